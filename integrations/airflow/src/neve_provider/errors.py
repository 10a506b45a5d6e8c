"""What goes wrong between Airflow and a Neve server."""

from __future__ import annotations

from airflow.sdk.exceptions import AirflowException


class NeveError(AirflowException):
    """The root: each says in one sentence what is wrong, and what to do."""


class NeveUnreachable(NeveError):
    """The server gave no answer, or none that can be read; it may give one later."""


class NeveRefused(NeveError):
    """The server refused the request."""

    def __init__(self, message: str, *, status: int, kind: str = "unknown") -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class NeveJobFailed(NeveError):
    """A job did not do what was asked for."""

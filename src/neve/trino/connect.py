"""The one door to the Trino client, opened only when somebody connects."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from neve.model.errors import EnvironmentProblem
from neve.trino.cursor import Errors
from neve.trino.tables import DEFAULT_CATALOG, DEFAULT_SCHEMA


def connect(
    *,
    host: str,
    port: int = 8080,
    user: str = "neve",
    password: str | None = None,
    catalog: str = DEFAULT_CATALOG,
    schema: str = DEFAULT_SCHEMA,
    session_properties: Mapping[str, str] | None = None,
    **options: Any,
) -> Any:
    """A DB-API connection; `options` such as `auth` and `http_scheme` go to the client as given.

    Nothing is sent before the first statement: an unreachable Trino shows there. A catalog whose
    storage is down can keep Trino waiting for many minutes on each statement; the session property
    `query_max_run_time` ends that wait.
    """
    properties = dict(session_properties or {})
    if password is not None:
        options["auth"] = _client("trino.auth").BasicAuthentication(user, password)
    return _client("trino.dbapi").connect(
        host=host,
        port=port,
        user=user,
        catalog=catalog,
        schema=schema,
        session_properties=properties,
        source="neve",
        **options,
    )


def trino_errors() -> Errors:
    """What a cursor of the Trino client raises when Trino or the way to it fails."""
    exceptions = _client("trino.exceptions")
    # The client's errors for a failing proxy stand outside its DB-API tree; a connection that
    # breaks while rows are read comes as an OSError.
    return (exceptions.Error, exceptions.HttpError, OSError)


def lost_errors() -> Errors:
    """Of these, those after which nobody knows how far Trino came with the statement."""
    exceptions = _client("trino.exceptions")
    return (exceptions.TrinoConnectionError, exceptions.HttpError, OSError)


def _client(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise EnvironmentProblem(
            "The Trino client is not installed.", next_step="Run: pip install 'neve[trino]'"
        ) from error

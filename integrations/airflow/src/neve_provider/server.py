"""A Neve server, asked by REST: from a worker, or from a triggerer's event loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from neve_provider.errors import NeveError, NeveRefused, NeveUnreachable
from neve_provider.routes import Request

#: Before a request that may be repeated is sent again.
PAUSES_SECONDS = (0.5, 1.0, 2.0)
#: Statuses of a server that may answer later.
UNAVAILABLE = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class NeveServer:
    """Where a server is, and how to be let in."""

    address: str
    token: str = ""
    timeout_seconds: float = 30.0
    #: False, or the file of an authority, for servers with certificates of their own.
    verify: bool | str = True
    job_page: str = "/api/v1/jobs/{job_id}"
    sleep: Callable[[float], None] = time.sleep
    transport: Any = None

    def send(self, request: Request) -> Any:
        """The answer; sent again, a few times, where that is safe and may help."""
        pauses = PAUSES_SECONDS if request.is_repeatable else ()
        with httpx.Client(**self._options()) as http:
            for pause in pauses:
                try:
                    return self._answer(lambda: http.request(**_words(request)))
                except NeveError as error:
                    if not may_pass(error):
                        raise
                self.sleep(pause)
            return self._answer(lambda: http.request(**_words(request)))

    async def asend(self, request: Request) -> Any:
        """The answer to one attempt; whoever follows a job asks again anyway."""
        async with httpx.AsyncClient(**self._options()) as http:
            try:
                response = await http.request(**_words(request))
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise self._unreachable(error) from error
        return self._read(response)

    def page_of(self, job_id: str) -> str:
        """Where a person sees the job."""
        return self.address + self.job_page.replace("{job_id}", job_id)

    def _options(self) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        options: dict[str, Any] = {
            "base_url": self.address,
            "timeout": self.timeout_seconds,
            "headers": headers,
            "verify": self.verify,
        }
        return options if self.transport is None else {**options, "transport": self.transport}

    def _answer(self, ask: Callable[[], httpx.Response]) -> Any:
        try:
            return self._read(ask())
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._unreachable(error) from error

    def _read(self, response: httpx.Response) -> Any:
        if not response.is_success:
            raise _refusal(response)
        try:
            return response.json() if response.content else None
        except ValueError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> NeveUnreachable:
        said = str(error) or type(error).__name__
        return NeveUnreachable(
            f"The Neve server {self.address} did not answer as it should: {said}. "
            "Check that neve serve runs there, and the connection."
        )


def may_pass(error: NeveError) -> bool:
    """Whether the same request may be answered a little later."""
    if isinstance(error, NeveRefused):
        return error.status in UNAVAILABLE
    return isinstance(error, NeveUnreachable)


def _words(request: Request) -> dict[str, Any]:
    headers = {"Idempotency-Key": request.key} if request.key else {}
    body = None if request.body is None else dict(request.body)
    return {"method": request.method, "url": request.path, "json": body, "headers": headers}


def _refusal(response: httpx.Response) -> NeveRefused:
    try:
        problem = response.json()
        detail, kind = str(problem["detail"]), str(problem["type"]).rpartition(":")[2]
    except (ValueError, KeyError, TypeError):
        text = f"The Neve server answered with status {response.status_code}."
        return NeveRefused(text, status=response.status_code)
    return NeveRefused(_sentences(problem, detail), status=response.status_code, kind=kind)


def _sentences(problem: Mapping[str, Any], detail: str) -> str:
    parts = [detail, *(_field(error) for error in problem.get("errors") or ())]
    return " ".join(part for part in (*parts, problem.get("next_step")) if part)


def _field(error: Mapping[str, Any]) -> str:
    place = ".".join(str(item) for item in error.get("location", ()))
    return f"{place}: {error.get('message', '')}."

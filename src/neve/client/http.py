"""Requests to a server: sent again where that is safe, refusals as the errors of Neve's tree."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self
from urllib.parse import quote

import httpx2

from neve.model.errors import FilterError, InputError, NeveError, ServerError, ServerRefused
from neve.model.problem_kinds import BY_NAME, TYPE_PREFIX, kind_of
from neve.retries import RetryPolicy, retrying

API = "/api/v1"
PATIENCE = RetryPolicy(attempts=4, first_pause_seconds=0.2, max_pause_seconds=2.0)
UNAVAILABLE = frozenset({429, 502, 503, 504})
NOT_NOW = frozenset({429, 503})
KEY = re.compile(r"[!-~]+")


class Connection:
    """One server, by its address."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout_seconds: float = 30.0,
        headers: Mapping[str, str] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`api_key` says who asks, where the server wants to know."""
        self._sleep = sleep
        self._url = url
        if api_key and not KEY.fullmatch(api_key):
            # Whoever found out later would quote the key.
            raise InputError("The key of the server has a character that no key has.")
        known = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        try:
            self._http = httpx2.Client(
                base_url=url, timeout=timeout_seconds, headers={**known, **(headers or {})}
            )
        except httpx2.InvalidURL as error:
            raise ServerError(f"{url!r} is not the address of a server.") from error

    def close(self) -> None:
        """Let connections go."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, path: str, **parameters: object) -> Any:
        given = {key: str(value) for key, value in parameters.items() if value is not None}
        return self._send("GET", path, params=given)

    def _post(
        self, path: str, body: Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> Any:
        """A request without a key is sent once: nobody knows whether a lost one was heard."""
        headers = {"Idempotency-Key": key} if key else {}
        return self._send("POST", path, json=dict(body or {}), headers=headers, again=bool(key))

    def _send(self, method: str, path: str, *, again: bool = True, **more: Any) -> Any:
        policy = PATIENCE if again else RetryPolicy(attempts=1)
        return retrying(
            lambda: self._answer(method, path, **more),
            on=may_pass,
            policy=policy,
            sleep=self._sleep,
        )

    def _response(self, method: str, path: str, **more: Any) -> httpx2.Response:
        try:
            response = self._http.request(method, path, **more)
            response.read()
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._unreachable(error) from error
        if not response.is_success:
            raise refusal(response)
        return response

    def _answer(self, method: str, path: str, **more: Any) -> Any:
        response = self._response(method, path, **more)
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: Exception) -> ServerError:
        return ServerError(
            f"The server {self._url} did not answer as it should: {error}.",
            next_step="Check that neve serve runs there, and the address.",
        )

    def _stream(self, path: str, after: int) -> Iterator[httpx2.ServerSentEvent]:
        """Events as they come; a connection that ends is for the caller to open again."""
        headers = {"Last-Event-ID": str(after)} if after else {}
        try:
            with self._http.sse(path, headers=headers) as source:
                if not source.response.is_success:
                    source.response.read()
                    raise refusal(source.response)
                yield from source
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise self._unreachable(error) from error


def refusal(response: httpx2.Response) -> NeveError:
    """The error of Neve's tree that a problem document tells of, or that there was none."""
    try:
        problem = response.json()
        detail, kind = str(problem["detail"]), str(problem["type"]).removeprefix(TYPE_PREFIX)
    except (ValueError, KeyError, TypeError):
        return ServerRefused(
            f"The server answered with status {response.status_code}.",
            status=response.status_code,
            kind="unknown",
        )
    next_step = problem.get("next_step")
    known = BY_NAME.get(kind)
    if known is FilterError:
        return FilterError(detail, position=problem.get("position"), next_step=next_step)
    if known is not None and not issubclass(known, ServerRefused):
        return known(detail, next_step=next_step)
    return ServerRefused(detail, status=response.status_code, kind=kind, next_step=next_step)


def may_pass(error: Exception) -> bool:
    """Whether the server may answer otherwise in a while."""
    if isinstance(error, ServerRefused):
        return error.status in UNAVAILABLE
    if isinstance(error, ServerError):
        return True
    # What the server itself waits for, its state for example, is told as the error that it met.
    return isinstance(error, NeveError) and kind_of(error)[0] in NOT_NOW


def part(text: str) -> str:
    """A text as one part of a path."""
    return quote(text, safe="")


def event_data(event: httpx2.ServerSentEvent) -> dict[str, Any]:
    found = json.loads(event.data)
    return found if isinstance(found, dict) else {}

"""Scripts on a Redis server: how they are sent, sent again, and understood."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import redis
import stamina
from redis.backoff import NoBackoff
from redis.exceptions import NoPermissionError, NoScriptError, RedisError
from redis.retry import Retry

from neve.model.errors import ConfigError, StoreError
from neve.store.address import check_address
from neve.store.redis.errors import explain, is_transient

#: Grows with every change of keys or their values that an older Neve would misread.
LAYOUT = 1
#: How long a call waits for a server that comes back, all attempts together.
PATIENCE_SECONDS = 8.0
SOCKET_SECONDS = 5.0
#: A script works on this many items at most, since the server does nothing else meanwhile.
BATCH = 500


class RedisServer:
    """One prefix on one server."""

    def __init__(
        self, url: str, *, prefix: str = "neve", patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self.address = check_address(url)
        self._layout_key = f"{{{prefix}}}:layout"
        self._patience_seconds = patience_seconds
        self._keeps_keys = False
        try:
            self._client = redis.Redis.from_url(
                url,
                decode_responses=True,
                # Paths in storage need not be proper Unicode.
                encoding_errors="surrogateescape",
                socket_timeout=SOCKET_SECONDS,
                socket_connect_timeout=SOCKET_SECONDS,
                # Requests are sent again below, with their id.
                retry=Retry(NoBackoff(), 0),
            )
        except (ValueError, RedisError):
            # What the client says may quote the URL.
            raise ConfigError(
                "state.url has an option with a wrong value.",
                next_step="Check what follows the question mark: times in seconds, counts, paths.",
            ) from None

    def read(self, script: str, *arguments: str) -> list[Any]:
        """What a script answers that changes nothing."""
        return self._call(script, "", arguments)

    def change(self, script: str, *arguments: str) -> list[Any]:
        """What a script answers that changes something, once, however often it is sent."""
        self._require_keeping()
        return self._call(script, uuid.uuid4().hex, arguments)

    def change_all(self, script: str, requests: Sequence[Sequence[str]]) -> list[list[Any]]:
        """The same for many at once, each on its own: the server flushes once for all of them."""
        self._require_keeping()
        digest, text = _script(script)
        sent = [(self._layout_key, str(LAYOUT), uuid.uuid4().hex, *each) for each in requests]

        def call() -> list[Any]:
            # Those that were applied before an answer was lost are not applied again.
            self._client.script_load(text)
            with self._client.pipeline(transaction=False) as pipeline:
                for each in sent:
                    pipeline.evalsha(digest, 1, *each)
                return pipeline.execute()

        return [self._understood(answer) for answer in self._patiently(call)] if sent else []

    def check(self) -> None:
        """Raise StoreError where the server cannot be reached or would forget what it is told."""
        self.read("failures", "")
        self._require_keeping()

    def _require_keeping(self) -> None:
        """A claim that the server may drop to make room is no claim."""
        if self._keeps_keys:
            return
        policy = self._patiently(self._eviction_policy)
        if policy.startswith("allkeys"):
            raise StoreError(
                f"The Redis server {self.address} may drop any key when its memory is full "
                f"(maxmemory-policy {policy}), jobs and claims among them.",
                next_step="Set maxmemory-policy to noeviction there.",
            )
        self._keeps_keys = True

    def _eviction_policy(self) -> str:
        try:
            memory: Any = self._client.info("memory")
        except NoPermissionError:
            # Whoever made such a user knows the server's configuration.
            return "unknown"
        return str(memory.get("maxmemory_policy", "unknown"))

    def close(self) -> None:
        self._client.close()

    def _call(self, script: str, request_id: str, arguments: Sequence[str]) -> list[Any]:
        digest, text = _script(script)
        sent = (self._layout_key, str(LAYOUT), request_id, *arguments)

        def call() -> Any:
            try:
                return self._client.evalsha(digest, 1, *sent)
            except NoScriptError:
                # The server is new, or was restarted.
                return self._client.eval(text, 1, *sent)

        return self._understood(self._patiently(call))

    def _understood(self, answer: list[Any]) -> list[Any]:
        if answer[0] == "newer":
            raise StoreError(
                f"The state on the Redis server {self.address} was made by a newer Neve.",
                next_step="Upgrade Neve, or set state.prefix to another one.",
            )
        return answer

    def _patiently(self, call: Callable[[], Any]) -> Any:
        begun = time.monotonic()
        try:
            return call()
        except RedisError as error:
            left = self._patience_seconds - (time.monotonic() - begun)
            if left <= 0 or not is_transient(error):
                raise explain(error, self.address) from error
        return self._again(call, left)

    def _again(self, call: Callable[[], Any], seconds: float) -> Any:
        """Only after a failure: what counts and waits costs a third of what a call does."""
        try:
            for attempt in stamina.retry_context(
                on=is_transient,
                attempts=None,
                timeout=seconds,
                wait_initial=0.05,
                wait_max=1.0,
                wait_jitter=0.1,
            ):
                with attempt:
                    return call()
        except RedisError as error:
            raise explain(error, self.address) from error
        raise AssertionError("a retry ends with an answer or an error")


def batches(items: Sequence[str], size: int = BATCH) -> Iterator[Sequence[str]]:
    """The items, this many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


@cache
def _script(name: str) -> tuple[str, str]:
    """The digest and the text of a script, with what all of them share before it."""
    folder = files("neve.store.redis").joinpath("scripts")
    parts = ("frame", "jobs", name)
    text = "\n".join(folder.joinpath(f"{part}.lua").read_text(encoding="utf-8") for part in parts)
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), text

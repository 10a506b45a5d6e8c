"""An event of an HTTP request, in the forms that the platform and its gateways have."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from neve.model.errors import InputError

#: What the platform lets through.
MAX_BODY_BYTES = 6 * 1024 * 1024
MAX_NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Event:
    """What is read of an event; everything else in it is passed over."""

    raw: Mapping[str, Any]

    @property
    def method(self) -> str:
        return str(self.raw.get("httpMethod") or self._http.get("method") or "")

    @property
    def path(self) -> str:
        path = str(self.raw.get("path") or self.raw.get("rawPath") or "")
        return path.rstrip("/") or "/"

    def is_for(self, method: str, paths: Collection[str]) -> bool:
        return self.method == method and self.path in paths

    @property
    def action(self) -> str:
        """What was asked, for the log: what stands in an event may be anything."""
        said = f"lambda {self.method} {self.path}".encode("ascii", "replace").decode()
        return "".join(c for c in said if c.isprintable())[:MAX_NAME_CHARACTERS]

    @property
    def source(self) -> str:
        """The address that it came from, as the gateway says."""
        context = _mapping(self.raw.get("requestContext"))
        found = _mapping(context.get("identity")).get("sourceIp") or self._http.get("sourceIp")
        return str(found or "")[:MAX_NAME_CHARACTERS]

    def headers(self, name: str) -> list[str]:
        """Values of a header, whatever its case, each once: gateways send them in two forms."""
        single = _items(self.raw.get("headers"))
        several = _items(self.raw.get("multiValueHeaders"))
        found = [value for key, value in (*single, *several) if key.lower() == name]
        return list(dict.fromkeys(found))

    def header(self, name: str) -> str | None:
        """The one value of a header that may have one."""
        found = self.headers(name)
        if not found:
            return None
        if len(found) > 1 or not 1 <= len(found[0]) <= 255:
            raise InputError(f"The header {name} must have one value of 1 to 255 characters.")
        return found[0]

    def parameters(self) -> Iterator[tuple[str, str]]:
        """What stands in the address."""
        yield from _items(self.raw.get("queryStringParameters"))
        yield from _items(self.raw.get("multiValueQueryStringParameters"))

    def body(self) -> bytes:
        body = self.raw.get("body")
        if not isinstance(body, str):
            raise InputError("The event has no body.", next_step="Send the request as JSON.")
        try:
            raw = body.encode()
            if self.raw.get("isBase64Encoded"):
                raw = base64.b64decode(raw, validate=True)
        except (UnicodeEncodeError, binascii.Error) as error:
            raise InputError("The body cannot be read: it is no text.") from error
        if len(raw) > MAX_BODY_BYTES:
            raise InputError(f"The body is larger than {MAX_BODY_BYTES} bytes.")
        return raw

    @property
    def _http(self) -> Mapping[str, Any]:
        return _mapping(_mapping(self.raw.get("requestContext")).get("http"))


def read_event(event: object) -> Event:
    if not isinstance(event, Mapping):
        raise InputError("The event is no request: it must be an object.")
    return Event(event)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> Iterator[tuple[str, str]]:
    for key, item in _mapping(value).items():
        for one in item if isinstance(item, list) else [item]:
            yield str(key), str(one)

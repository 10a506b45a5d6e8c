"""Which values of a configuration are secrets, and texts without them."""

from __future__ import annotations

import re
import weakref
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import unquote

#: Names of settings that hold secrets, of Neve, pyiceberg and Spark; Java reads it as Python does.
SECRET_NAME = re.compile(
    r"(?i)secret|passw|passphrase|token|credential|(access|account|api)[._-]?key|private"
    r"|authorization|signature|connection[._-]?string|\bsas\b"
)
ADDRESS_PARTS = re.compile(r"[/@:?&=]")
#: Host names and plain words would hide what a log is read for.
TOKEN = re.compile(r"(?=.*[0-9A-Z])[A-Za-z0-9_+%-]{8,}")
USER_INFO = re.compile(r"(?<=://)[^/@\s]+@")
HIDDEN = "***"
#: Shorter values would hide parts of words that are no secrets.
MIN_SECRET_CHARACTERS = 6


def secrets_of(settings: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Values of settings whose names speak of secrets, and passwords in addresses."""
    found: list[str] = []
    for properties in settings.values():
        for name, value in properties.items():
            if SECRET_NAME.search(name):
                found += [value, *_parts_with_names(value)]
            for part in USER_INFO.findall(value):
                # In an address it is written one way, and sent another.
                found += [part.rstrip("@"), unquote(part.rstrip("@"))]
    pieces = [*found, *(part for value in found for part in value.split(":"))]
    return sorted({v for v in pieces if len(v) >= MIN_SECRET_CHARACTERS}, key=len, reverse=True)


def _parts_with_names(value: str) -> Iterable[str]:
    """Of `AccountName=a;AccountKey=k` what is a secret by itself: that is how it is sent."""
    for part in value.split(";"):
        name, is_named, text = part.partition("=")
        if is_named and SECRET_NAME.search(name):
            yield text


def secrets_of_addresses(addresses: Iterable[str]) -> list[str]:
    """Addresses of notices, and what in them looks like a token: it is all that it takes to write
    there.
    """
    found = set()
    for address in addresses:
        rest = address.partition("://")[2]
        found |= {address, rest}
        found |= {part for part in ADDRESS_PARTS.split(rest) if TOKEN.fullmatch(part)}
    return sorted((f for f in found if len(f) >= MIN_SECRET_CHARACTERS), key=len, reverse=True)


#: Secrets of every configuration that this process has, by its owner.
_known: dict[int, tuple[str, ...]] = {}


def remember_secrets(owner: object, secrets: Iterable[str]) -> None:
    """Let no error tell them, for as long as their owner is there."""
    _known[id(owner)] = tuple(secrets)
    weakref.finalize(owner, _known.pop, id(owner), None)


def hide_known_secrets(text: str) -> str:
    """The text without secrets of any configuration of this process."""
    for secrets in tuple(_known.values()):
        text = hide_secrets(text, secrets)
    return text


def hide_secrets(text: str, secrets: Collection[str]) -> str:
    """The text without any of the values, and without user names in addresses."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return USER_INFO.sub(f"{HIDDEN}@", text)

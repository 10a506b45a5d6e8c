"""Keys that a text of JSON says twice: one of two values would be ignored, nobody knows which."""

from __future__ import annotations

import json
from collections import Counter

from neve.model.json_depth import MAX_DEPTH, is_deeper

#: What a body is refused as.
TWINS = "key-twice"


class KeyTwice(ValueError):
    """An object has the key twice."""

    def __init__(self, key: str) -> None:
        super().__init__(f"has the key {key} twice")
        self.key = key


def without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of these pairs, for a reader of JSON that asks."""
    found = dict(pairs)
    if len(found) != len(pairs):
        (key, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise KeyTwice(key)
    return found


def twins_in_body(text: bytes | bytearray) -> str | None:
    """A sentence about a key that a body says twice; None also where it is no JSON, or too deep."""
    if is_deeper(text, MAX_DEPTH):
        return None
    try:
        json.loads(text, object_pairs_hook=without_twins)
    except KeyTwice as error:
        return f"The body says the key {error.key[:100]!r} twice, and one value would be ignored."
    except ValueError:
        # Whoever reads it for what it says will tell.
        return None
    return None

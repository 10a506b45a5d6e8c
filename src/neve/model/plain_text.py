"""Texts that others wrote, as they may be shown: on a terminal, too."""

from __future__ import annotations

from unicodedata import category

#: Controls, halves of characters, and what changes the direction of the text around it.
_HIDDEN = frozenset(("Cc", "Cs"))
_DIRECTIONS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain_text(text: str) -> str:
    """The text, with what a terminal would obey written as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(c) if _is_hidden(c) else c for c in text)


def _is_hidden(character: str) -> bool:
    return character in _DIRECTIONS or (category(character) in _HIDDEN and character != "\n")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")

"""How deep a text of JSON is, without parsing it.

A parser that goes too deep stops whatever happens to run in its depths as well, finalizers of other
objects among it.
"""

from __future__ import annotations

import re

#: What nobody means who writes a request.
MAX_DEPTH = 64
#: Texts, in which brackets mean nothing, and brackets.
TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)


def is_deeper(body: bytes | bytearray, limit: int) -> bool:
    """Whether a body of JSON is deeper than that; a parser would find out by failing."""
    if body.count(b"[") + body.count(b"{") <= limit:
        return False
    depth = 0
    for token in TOKENS.finditer(body):
        first = body[token.start()]
        depth += (first in b"[{") - (first in b"]}")
        if depth > limit:
            return True
    return False

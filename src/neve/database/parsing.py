"""sqlglot, in so many steps.

Where it goes back to try another reading, it does so again inside of each: twenty joins without a
condition take minutes, and a thread that parses cannot be ended.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import TokenType

DIALECT = "duckdb"
#: Steps over tokens, for each of them and besides. Statements of people take one or two for each.
STEPS_FOR_EACH, MORE_STEPS = 10, 2_000
#: A chain of them takes a time that grows with the square of its length.
MAX_BRACKETS = 100


class TooManySteps(Exception):
    """Not one of sqlglot's errors, which it takes for a reading that failed."""


class _Parser(DuckDBParser):
    steps_left = 0

    def _advance(self, times: int = 1) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise TooManySteps
        super()._advance(times)


def parse_bounded(text: str) -> list[exp.Expr]:
    """The statements of a text, or TooManySteps; sqlglot's own errors as they are."""
    dialect = DuckDB()
    tokens = dialect.tokenize(text)
    kinds = [token.token_type for token in tokens]
    calls = sum(
        pair == (TokenType.DOT, TokenType.L_PAREN) for pair in zip(kinds, kinds[2:], strict=False)
    )
    if kinds.count(TokenType.L_BRACKET) + calls > MAX_BRACKETS:
        raise TooManySteps
    parser = _Parser(dialect=dialect)
    parser.steps_left = STEPS_FOR_EACH * len(tokens) + MORE_STEPS
    return [tree for tree in parser.parse(tokens, text) if tree is not None]

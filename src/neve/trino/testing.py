"""A cursor that records what it is asked, for tests that run without Trino."""

from __future__ import annotations

from typing import Any


class FakeTrinoError(Exception):
    """What the fake raises where a driver would raise its own error."""

    def __init__(self, message: str, query_id: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.query_id = query_id


class FakeCursor:
    """Answers a statement by the first fragment that it contains; any other has no rows."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.parameters: list[list[Any]] = []
        self._answers: list[tuple[str, list[list[list[Any]]]]] = []
        self._failures: dict[str, tuple[Exception, int | None]] = {}
        self._rows: list[list[Any]] = []

    def answer(self, fragment: str, *results: list[list[Any]]) -> None:
        """Give the results one after the other, the last one again and again."""
        self._answers.append((fragment, list(results)))

    def fail(self, fragment: str, error: Exception, *, times: int | None = None) -> None:
        """Raise for statements with the fragment, this many times or always."""
        self._failures[fragment] = (error, times)

    def execute(self, operation: str, params: Any = None, /) -> FakeCursor:
        self.statements.append(operation)
        self.parameters.append(list(params or ()))
        for fragment, (error, times) in self._failures.items():
            if fragment in operation and times != 0:
                self._failures[fragment] = (error, None if times is None else times - 1)
                raise error
        self._rows = self._next(operation)
        return self

    def fetchall(self) -> list[list[Any]]:
        return self._rows

    def _next(self, operation: str) -> list[list[Any]]:
        for fragment, results in self._answers:
            if fragment in operation:
                return results.pop(0) if len(results) > 1 else results[0]
        return []

"""Several catalogs asked at once: one that is down or slow is its own problem."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import TypeVar

from neve.catalog.errors import first_line
from neve.model.errors import CatalogError, NeveError

Answer = TypeVar("Answer")


def ask_each(
    names: Sequence[str], ask: Callable[[str], Answer], seconds: float
) -> dict[str, Answer | NeveError]:
    """The answer of each catalog, or why there is none; nobody is waited for longer than that."""
    asked = {name: _in_background(ask, name) for name in names}
    wait(asked.values(), timeout=seconds)
    answers: dict[str, Answer | NeveError] = {}
    for name, future in asked.items():
        answers[name] = _trouble(name, future, seconds) or future.result()
    return answers


def _in_background(ask: Callable[[str], Answer], name: str) -> Future[Answer]:
    future: Future[Answer] = Future()

    def run() -> None:
        try:
            future.set_result(ask(name))
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            future.set_exception(error)

    # A pool would wait for all of its threads when the command ends, and one of them may hang.
    threading.Thread(target=run, name=f"neve-catalog-{name}", daemon=True).start()
    return future


def _trouble(name: str, future: Future[Answer], seconds: float) -> NeveError | None:
    if not future.done():
        return CatalogError(
            f"Catalog {name} did not answer within {seconds:g} seconds.",
            next_step=f"Check catalogs.{name} in neve.yaml, and that the catalog is running.",
        )
    error = future.exception()
    if error is None or isinstance(error, NeveError):
        return error
    if not isinstance(error, Exception):
        raise error
    return CatalogError(
        f"Catalog {name} cannot be read: {type(error).__name__}: {first_line(error)}",
        next_step=f"Check catalogs.{name} in neve.yaml.",
    )

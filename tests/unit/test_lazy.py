"""One value, however many threads ask for it first."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from neve.lazy import Lazy


def test_it_is_made_when_it_is_asked_for():
    lazy = Lazy(lambda: "made")

    assert lazy.if_made is None
    assert lazy() == "made"
    assert lazy.if_made == "made"


def test_threads_that_ask_at_once_get_one():
    everybody_is_here = threading.Barrier(8)
    made: list[object] = []

    def make() -> object:
        # Whoever else got in here would be making a second one meanwhile.
        threading.Event().wait(0.02)
        made.append(object())
        return made[-1]

    lazy = Lazy(make)

    def ask(_: int) -> object:
        everybody_is_here.wait()
        return lazy()

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {made[0]}
    assert len(made) == 1


def test_another_one_can_be_used_instead():
    lazy = Lazy(lambda: "made")
    lazy.use("given")

    assert lazy() == "given"


def test_it_can_be_made_early_and_used_there():
    used: list[str] = []
    lazy = Lazy(lambda: "made")
    lazy.start_soon(used.append)
    lazy._early.join()

    assert (used, lazy.if_made) == (["made"], "made")


def test_what_is_not_wanted_any_more_is_not_used():
    begun, may_end = threading.Event(), threading.Event()
    used: list[str] = []

    def make() -> str:
        begun.set()
        may_end.wait()
        return "made"

    lazy = Lazy(make)
    lazy.start_soon(used.append)
    begun.wait()
    with ThreadPoolExecutor(1) as pool:
        settled = pool.submit(lazy.settle)
        lazy._is_unwanted.wait()
        may_end.set()
        settled.result()

    assert used == []

from __future__ import annotations

import gc

from neve.spark.once import once_per_session


class Session:
    """Stands for a session: only its identity matters."""


def test_each_session_is_asked_once_and_forgotten_with_its_jvm():
    asked = []

    @once_per_session
    def look_up(session):
        asked.append(type(session).__name__)
        return object()

    one, other = Session(), Session()

    assert look_up(one) is look_up(one)
    assert look_up(other) is not look_up(one)
    assert len(asked) == 2
    del one
    gc.collect()
    look_up(Session())
    assert len(asked) == 3

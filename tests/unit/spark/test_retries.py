from __future__ import annotations

import pytest

from neve.model.errors import CommitConflict, CommitUnknown
from neve.spark.retries import POLICY, despite_writers

ATTEMPTS = POLICY.attempts


def attempts(*errors):
    """A commit that fails this many times, each in its own way, and then succeeds."""
    waiting = list(errors)

    def commit():
        if waiting:
            raise waiting.pop(0)
        return "done"

    return commit


def test_a_commit_is_tried_again_where_writers_are_faster():
    pauses = []
    lost = [CommitConflict("lost")] * (ATTEMPTS - 1)

    assert despite_writers(attempts(*lost), sleep=pauses.append) == "done"
    assert len(pauses) == ATTEMPTS - 1
    # They grow, whatever chance adds to each.
    assert max(pauses) < 1.5 * 1.6
    assert pauses[-1] > pauses[0]


@pytest.mark.parametrize("error", [CommitUnknown("no answer"), CommitConflict("lost")])
def test_a_commit_is_not_tried_for_ever_and_never_after_an_unknown_one(error):
    count = ATTEMPTS if isinstance(error, CommitConflict) else 1

    with pytest.raises(type(error)):
        despite_writers(attempts(*[error] * count), sleep=lambda seconds: None)

"""Two Neves on one table, with one state and with two: both end, and nothing is lost."""

from __future__ import annotations

import pytest
from tests.attack.conftest import CASES, OPERATIONS, Attack, choices, plain
from tests.attack.points import Points

SECOND = {
    "compact": ("compact", "{table}"),
    "expire": ("expire", "{table}", "--apply"),
    "maintain": ("maintain", "{table}", "--apply"),
}


@pytest.mark.parametrize("number", range(CASES))
@pytest.mark.parametrize("state", ["state", "another"])
@pytest.mark.parametrize("second", sorted(SECOND))
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_two_at_once_lose_nothing(
    attack: Attack, operation: str, second: str, state: str, number: int
):
    known = OPERATIONS[operation]
    chosen = choices(operation, second, state, number).randrange(len(attack.points_of(operation)))
    name = attack.table()
    words = attack.prepare(name, known.prepare)
    before = attack.oracle.state(name)
    others = []

    def act() -> None:
        others.append(attack.run([word.format(**words) for word in SECOND[second]], state=state))

    points = Points(chosen, act)
    result = attack.run([word.format(**words) for word in known.words], points)

    told = f"{operation}, {second} at {points.reached}: {result.output}"
    for ended in (result, *others):
        assert ended.exit_code in (0, 1), ended.output
        assert ended.exception is None or isinstance(ended.exception, SystemExit), told
    after = attack.oracle.state(name)
    assert (after.by_spark, after.by_pyiceberg) == (before.by_spark, before.by_pyiceberg), told
    for which in {"state", state}:
        attack.run(["jobs", plain(name)], state=which)
        assert attack.unfinished(name, which) == [], told

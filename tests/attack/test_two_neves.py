"""Two Neves on one table, with one state and with two: both end, and nothing is lost."""

from __future__ import annotations

from itertools import product

import pytest
from tests.attack.cases import cases, point_of
from tests.attack.points import Points
from tests.attack.runs import OPERATIONS, Attack, plain, version_of
from typer.testing import Result

#: A machine that is busy takes its time.
pytestmark = [pytest.mark.promise(6, 15), pytest.mark.timeout(900)]
ONE, TWO = "one state", "two states"
SECOND = {
    "compact": ["compact"],
    "expire": ["expire", "--apply"],
    "maintain": ["maintain", "--apply"],
    "sweep": ["orphans", "--quarantine"],
}
PAIRS = [f"{second}, {states}" for second, states in product(SECOND, (ONE, TWO))]


@pytest.mark.parametrize(("operation", "pair", "number"), cases(OPERATIONS, PAIRS, each=1))
def test_two_at_once_lose_nothing(attack: Attack, operation: str, pair: str, number: int) -> None:
    second, states = pair.split(", ")
    state = "state" if states == ONE else "another"
    version = version_of(operation, pair)
    chosen = point_of(attack.points_of(operation, version), operation, pair, number)
    name, words = attack.make(operation, version)
    before = attack.oracle.state(name)
    others: list[Result] = []

    def act() -> None:
        others.append(attack.run([*SECOND[second], plain(name)], state=state))

    points = Points(chosen, act)
    result = attack.run(words, points)

    told = f"{operation} of format {version}, {pair} {chosen}: {result.output}"
    told += "".join(other.output for other in others)
    attack.reached.append(points.is_reached)
    attack.oracle.check(name, before, told)
    for which in {"state", state} if others else {"state"}:
        attack.settle(name, told, which)
    attack.oracle.check(name, before, f"afterwards: {told}")

"""A writer comes in between, at any point of any operation: nothing of it is ever lost."""

from __future__ import annotations

import pytest
from tests.attack.cases import cases, point_of
from tests.attack.oracle import State
from tests.attack.points import Points
from tests.attack.runs import OPERATIONS, Attack, version_of
from tests.attack.writers import ACTIONS, Refused

#: A machine that is busy takes its time.
pytestmark = [pytest.mark.promise(1, 3, 8, 10, 15, 17, 20), pytest.mark.timeout(900)]


@pytest.mark.parametrize(
    ("operation", "action", "number"), cases(OPERATIONS, sorted(ACTIONS), each=2)
)
def test_nothing_of_a_writer_is_lost(
    attack: Attack, operation: str, action: str, number: int
) -> None:
    version = version_of(operation, action)
    chosen = point_of(attack.points_of(operation, version), operation, action, number)
    name, words = attack.make(operation, version)
    before = attack.oracle.state(name)
    seen: list[tuple[str, State]] = []

    def act() -> None:
        try:
            looked_at = ACTIONS[action](attack.oracle.session, name)
        except Refused:
            looked_at = name
        seen.append((looked_at, attack.oracle.state(looked_at)))

    points = Points(chosen, act)
    result = attack.run(words, points)

    told = f"{operation} of format {version}, {action} {chosen}: {result.output}"
    attack.reached.append(points.is_reached)
    name_now, expected = seen[-1] if seen else (name, before)
    attack.oracle.check(name_now, expected, told)
    attack.settle(name, told)
    attack.oracle.check(name_now, expected, f"afterwards: {told}")

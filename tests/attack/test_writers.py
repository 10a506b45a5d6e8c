"""A writer comes in between, at any point of any operation: nothing of it is ever lost."""

from __future__ import annotations

import pytest
from tests.attack.conftest import CASES, OPERATIONS, Attack, choices, plain
from tests.attack.points import Points
from tests.attack.writers import ACTIONS

#: The table is another one afterwards: what Neve had begun must not be carried over to it.
REPLACED = {"drop and recreate", "rename"}
#: The writer itself takes snapshots off main.
MOVES_BACK = {"roll back"}


@pytest.mark.parametrize("number", range(CASES))
@pytest.mark.parametrize("action", sorted(ACTIONS))
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_nothing_of_a_writer_is_lost(attack: Attack, operation: str, action: str, number: int):
    known = OPERATIONS[operation]
    chosen = choices(operation, action, number).randrange(len(attack.points_of(operation)))
    name = attack.table(version=choices(operation, action).choice((2, 3)))
    words = attack.prepare(name, known.prepare)
    before = attack.oracle.state(name)
    seen = {}

    def act() -> None:
        seen["name"] = ACTIONS[action](attack.session, name)
        seen["state"] = attack.oracle.state(seen["name"])

    points = Points(chosen, act)
    result = attack.run([word.format(**words) for word in known.words], points)

    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (0, 1), result.output
    told = f"{operation}, {action} at {points.reached}: {result.output}"
    after = attack.oracle.state(seen.get("name", name))
    expected = seen["state"] if seen else before
    assert after.by_spark == expected.by_spark, told
    assert after.by_pyiceberg == expected.by_pyiceberg, told
    if seen and action not in REPLACED:
        assert set(expected.ancestry[:1]) <= set(after.ancestry), told
    kept = {ref: at for ref, at in expected.refs.items() if not ref.startswith("neve-")}
    for ref, snapshot_id in kept.items():
        if ref != "main":
            assert after.refs.get(ref) == snapshot_id, told
    again = attack.run(["jobs", plain(name)])
    assert again.exit_code in (0, 1), again.output
    assert attack.unfinished(name) == [], told

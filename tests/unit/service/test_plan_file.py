from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.documents import canonical_text
from neve.model.errors import InputError, PlanFileError
from neve.model.facts import PartitionField, SpecFacts
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.model.table import TableRef
from neve.planning.cost import CostModel, Rates
from neve.planning.health import assess
from neve.planning.planner import make_plan
from neve.service.plan_file import read_plan_file, write_plan_file
from neve.testing.facts import MB, NOW, data_file, table_facts

FILE = Path("plan.json")
POLICY = CompactionPolicy(target_file_size_bytes=100 * MB)


def plan_of(facts, max_cost_usd=None):
    return make_plan(
        facts,
        assess(facts, POLICY, NOW),
        POLICY,
        RewriteDataFilesArguments(),
        max_cost_usd=max_cost_usd,
        cost_model=CostModel(),
        rates=Rates(),
        now=NOW,
    )


def small_plan(**changes):
    return plan_of(table_facts([data_file(f"f{i}", 10 * MB) for i in range(3)], **changes))


VALUES = {
    "string": st.text(max_size=8),
    "long": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False) | st.just(math.nan),
    "boolean": st.booleans(),
}
NAMES = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=6)


@st.composite
def plans(draw):
    of = draw(st.sampled_from(sorted(VALUES)))
    keys = draw(st.lists(VALUES[of] | st.none(), min_size=1, max_size=4, unique_by=repr))
    files = [
        data_file(f"{i}-{j}", draw(st.integers(1, 120 * MB)), partition=(0, (key,)))
        for i, key in enumerate(keys)
        for j in range(draw(st.integers(1, 3)))
    ]
    spec = SpecFacts(0, (PartitionField(draw(NAMES), "identity", "day", of),))
    table = TableRef(draw(NAMES), (draw(NAMES),), draw(NAMES))
    facts = table_facts(files, specs={0: spec}, table=table)
    return plan_of(facts, max_cost_usd=draw(st.none() | st.floats(0, 1)))


@given(st.lists(plans(), max_size=2))
def test_plans_come_back_as_they_were_written(made):
    write_plan_file(FILE, made)

    assert read_plan_file(FILE) == made
    # Bare NaN and Infinity are Python's, not JSON's.
    json.loads(FILE.read_text(), parse_constant=pytest.fail)


def test_a_plan_without_work_comes_back_too():
    empty = plan_of(table_facts(snapshots=[]))

    write_plan_file(FILE, [empty])

    assert read_plan_file(FILE) == [empty]


def edit(change):
    document = json.loads(FILE.read_text())
    change(document)
    FILE.write_text(json.dumps(document))


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["plans"][0].update(target_file_size_bytes=1),
        lambda document: document["plans"][0]["steps"][0]["groups"].pop(),
        lambda document: document["plans"].clear(),
        lambda document: document.update(digest="sha256:0"),
        lambda document: document.pop("digest"),
        lambda document: document.update(extra=1),
    ],
)
def test_a_plan_that_was_edited_by_hand_is_refused(change):
    write_plan_file(FILE, [small_plan()])
    edit(change)

    with pytest.raises(PlanFileError, match="was changed after the plan was made") as refusal:
        read_plan_file(FILE)

    assert refusal.value.next_step.startswith("Plan again")


def test_formatting_a_plan_is_no_change():
    write_plan_file(FILE, [small_plan()])
    edit(lambda document: None)

    assert read_plan_file(FILE) == [small_plan()]


def test_a_plan_of_another_version_is_refused():
    write_plan_file(FILE, [small_plan()])
    edit(lambda document: document.update(format_version="0.9"))

    with pytest.raises(PlanFileError, match=r"has the format version '0\.9'; this Neve reads"):
        read_plan_file(FILE)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[]", "is not a plan"),
        (b"5", "is not a plan"),
        (b"{}", "has the format version None"),
    ],
)
def test_a_file_that_is_no_plan_is_refused(content, message):
    FILE.write_bytes(content)

    with pytest.raises(PlanFileError, match=message) as refusal:
        read_plan_file(FILE)

    assert refusal.value.next_step


@pytest.mark.parametrize("plans", [None, [5], [{"plan_id": "x"}], ["text"]])
def test_a_sealed_file_of_another_shape_is_refused(plans):
    body = {"format_version": "1.1", "plans": plans}
    digest = hashlib.sha256(canonical_text(body).encode()).hexdigest()
    FILE.write_text(json.dumps({**body, "digest": f"sha256:{digest}"}))

    with pytest.raises(PlanFileError, match="is not a plan of this version") as refusal:
        read_plan_file(FILE)

    assert refusal.value.next_step.startswith("Make a plan")


@pytest.mark.parametrize(
    ("path", "why"), [("nowhere.json", "No such file or directory"), (".", "Is a directory")]
)
def test_a_file_that_cannot_be_read_is_named(path, why):
    with pytest.raises(PlanFileError, match=f"cannot be read: {why}") as refusal:
        read_plan_file(Path(path))

    assert refusal.value.next_step


def test_a_place_that_cannot_be_written_is_named():
    Path("file").touch()

    with pytest.raises(InputError, match=r"cannot be written to file/plan\.json: Not a directory"):
        write_plan_file(Path("file") / "plan.json", [small_plan()])

"""A plan may be edited and sealed again: it is refused, or it does no harm."""

from __future__ import annotations

import copy
import hashlib
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neve.documents import canonical_text
from neve.model.errors import NeveError, PlanFileError, PlanStale
from neve.model.facts import DeleteKind
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, Engine, RewriteMode
from neve.planning.cost import CostModel
from neve.service.maintenance import Maintenance
from neve.service.plan_file import plan_document, read_plan_file
from neve.testing.facts import MB, NOW, TABLE, data_file, delete_file, partition, table_facts
from neve.testing.lake import MemoryLake, SilentReporter
from neve.testing.store import MemoryStore

pytestmark = pytest.mark.promise(7)

POLICY = CompactionPolicy(target_file_size_bytes=100 * MB)
FOREIGN = "file:///elsewhere/secret"


def make_lake(version=2, deletes=()):
    """Two days of small files, and good ones that no plan names."""
    small = [
        data_file(f"{day}-{number}", 20 * MB, partition=partition(day))
        for day in ("mon", "tue")
        for number in range(3)
    ]
    good = [data_file(f"{day}-good", 95 * MB, partition=partition(day)) for day in ("mon", "tue")]
    return MemoryLake(table_facts([*small, *good], deletes, format_version=version))


def make_world(lake):
    return Maintenance(
        surveyor=lake,
        make_engine=lambda: lake,
        store=MemoryStore(lambda: NOW),
        clock=lambda: NOW,
        reporter=SilentReporter(),
        metadata=lake.metadata,
        log=lake,
        cost_model=CostModel(),
        lease_seconds=60,
    )


def plan_body(services, engine=RewriteMode.AUTO):
    plan = services.plan(TABLE, RewriteDataFilesArguments(engine=engine), policy=POLICY)
    document = plan_document([plan])
    return {key: value for key, value in document.items() if key != "digest"}


def seal(body, path: Path):
    digest = hashlib.sha256(canonical_text(body).encode()).hexdigest()
    path.write_text(json.dumps({**body, "digest": f"sha256:{digest}"}))


def apply(services, body, folder: Path):
    """As `neve apply` does it."""
    seal(body, folder / "plan.json")
    (plan,) = read_plan_file(folder / "plan.json")
    return services.apply(plan)


def rows(lake):
    found = Counter()
    for file in lake.facts.data_files:
        found[file.partition] += file.record_count
    return found


def first_step(body):
    return body["plans"][0]["steps"][0]


def first_group(body):
    return first_step(body)["groups"][0]


def says_copy(body):
    for step in body["plans"][0]["steps"]:
        step["engine"] = "copy"
        for group in step["groups"]:
            group["engine"] = "copy"


def names_a_foreign_file(body):
    first_group(body)["files"][0]["path"] = FOREIGN


def names_a_file_of_another_partition(body):
    groups = first_step(body)["groups"]
    groups[0]["files"][0], groups[1]["files"][0] = groups[1]["files"][0], groups[0]["files"][0]


def names_a_file_twice(body):
    first_group(body)["files"].append(first_group(body)["files"][0])


def repeats_a_group(body):
    first_step(body)["groups"].append(first_group(body))


def counts_wrong(body):
    first_group(body)["files"][0]["record_count"] -= 1


def lies_about_a_size(body):
    first_group(body)["files"][0]["size_bytes"] = 1


def asks_for_a_thousand_outputs(body):
    first_group(body)["expected_output_files"] = 1000


def asks_for_no_output(body):
    first_group(body)["expected_output_files"] = 0


def has_a_negative_target(body):
    first_step(body)["target_file_size_bytes"] = -1


def never_ends(body):
    body["plans"][0]["undo_window_seconds"] = 10**30


def is_of_another_table(body):
    body["plans"][0]["table_uuid"] = "other"


def sorts_by_a_column_that_is_none(body):
    first_step(body)["strategy"] = "sort"
    first_step(body)["sort_columns"] = ["id; DROP TABLE x"]


def has_an_absurd_id(body):
    body["plans"][0]["plan_id"] = "x" * 100_000


def has_half_a_character(body):
    body["plans"][0]["table"] = "lake.db.\ud800"


def costs_nothing_that_is_a_number(body):
    body["plans"][0]["gain"] = float("nan")


def asks_for_any_engine(body):
    first_step(body)["engine"] = first_group(body)["engine"] = "auto"


def asks_for_an_engine_that_is_none(body):
    first_step(body)["engine"] = first_group(body)["engine"] = "transcode"


def has_another_type(body):
    first_group(body)["files"] = {"path": "x"}


TAMPERED = [
    names_a_foreign_file,
    names_a_file_of_another_partition,
    names_a_file_twice,
    repeats_a_group,
    counts_wrong,
    lies_about_a_size,
    asks_for_a_thousand_outputs,
    asks_for_no_output,
    has_a_negative_target,
    never_ends,
    is_of_another_table,
    sorts_by_a_column_that_is_none,
    has_an_absurd_id,
    has_half_a_character,
    costs_nothing_that_is_a_number,
    asks_for_any_engine,
    asks_for_an_engine_that_is_none,
    has_another_type,
]


@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
@pytest.mark.parametrize("engine", [RewriteMode.AUTO, RewriteMode.SPARK])
def test_a_plan_is_refused_that(tamper, engine, tmp_path):
    lake = make_lake()
    services = make_world(lake)
    body, before = plan_body(services, engine), lake.facts
    tamper(body)

    with pytest.raises((PlanFileError, PlanStale)) as refusal:
        apply(services, body, tmp_path)

    assert refusal.value.message.endswith((".", "since."))
    assert lake.facts == before
    assert services.store.jobs() == []


@pytest.mark.parametrize(
    ("version", "deletes", "why"),
    [
        (3, (), "format v3 keeps row ids"),
        (2, (delete_file("d", DeleteKind.EQUALITY),), "deletes must be applied"),
    ],
)
def test_a_plan_does_not_decide_what_may_be_copied(version, deletes, why, tmp_path):
    lake = make_lake(version, deletes)
    services = make_world(lake)
    body, before = plan_body(services), lake.facts
    says_copy(body)

    with pytest.raises(PlanStale, match=why):
        apply(services, body, tmp_path)

    assert lake.facts == before


def test_what_a_plan_may_not_say_is_taken_from_the_table(tmp_path):
    lake = make_lake()
    services = make_world(lake)
    body = plan_body(services, RewriteMode.SPARK)
    first_step(body)["filter"] = "not JSON"
    first_group(body).update(partition="x", partition_values=[], records=-5, input_bytes=10**20)
    body["plans"][0]["snapshot_id"] = 4711
    body["plans"][0]["undo_window_seconds"] = 0

    outcome = apply(services, body, tmp_path)

    assert outcome.status is Status.SUCCEEDED
    (tag,) = (ref for ref in lake.facts.refs if ref.kind == "tag")
    assert (tag.snapshot_id, tag.max_age_ms) == (
        1,
        POLICY.undo_window_seconds * 1000 + 11 * 3_600_000,
    )


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([-1, 0, 1, 2, 10**6, 2**31, 2**63, -(2**63), 10**400, 1.5, float("inf")]),
    st.sampled_from(["", "copy", "spark", "remote_copy", "auto", "sort", "zorder", "id", "day"]),
    st.sampled_from([FOREIGN, "file:///lake/mon-good", "file:///lake/tue-0", "lake.db.events"]),
    st.sampled_from(["lake.db.other", "other.db.events", "id = 1", "'; --", "\ud800", "é" * 5000]),
    st.just([]),
    st.just({}),
)


def places(document, here=()):
    """Every path into the document."""
    if isinstance(document, dict):
        items = document.items()
    elif isinstance(document, list):
        items = enumerate(document)
    else:
        return
    for key, value in list(items):
        yield (*here, key)
        yield from places(value, (*here, key))


def mutate(data, body):
    everywhere = list(places(body["plans"], ("plans",)))
    if not everywhere:
        return
    *parents, last = data.draw(st.sampled_from(everywhere))
    target = body
    for key in parents:
        target = target[key]
    how = data.draw(st.sampled_from(["replace", "replace", "drop", "repeat", "swap"]))
    if how == "drop":
        del target[last]
    elif how == "repeat" and isinstance(target, list):
        target.append(copy.deepcopy(target[last]))
    elif how == "swap" and isinstance(target, list) and len(target) > 1:
        target[last], target[0] = target[0], target[last]
    else:
        target[last] = data.draw(ODD)


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data(), version=st.sampled_from([2, 3]), engine=st.sampled_from(list(RewriteMode)))
def test_a_resealed_plan_is_refused_or_does_no_harm(tmp_path, data, version, engine):
    lake, at_first = make_lake(version), make_lake(version)
    services = make_world(lake)
    body = plan_body(services, engine)
    for _ in range(data.draw(st.integers(1, 3))):
        mutate(data, body)
    run_tasks = lake.run_tasks

    def run_checked(table, tasks, *others):
        # A copy would number rows again.
        assert version < 3 or all(task.ladder == (Engine.REWRITE,) for task in tasks)
        return run_tasks(table, tasks, *others)

    lake.run_tasks = run_checked

    done = []
    with suppress(NeveError):
        seal(body, tmp_path / "plan.json")
        for plan in read_plan_file(tmp_path / "plan.json"):
            before = lake.facts
            done.append(False)
            services.apply(plan)
            done[-1] = True

    if False in done:
        # Refused, so neither tagged nor written.
        assert lake.facts == before
    assert rows(lake) == rows(at_first)
    untouched = {f.path for f in at_first.facts.data_files if "good" in f.path}
    assert untouched <= {f.path for f in lake.facts.data_files}

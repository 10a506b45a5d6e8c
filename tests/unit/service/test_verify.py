"""What is verified before a commit, as it was asked for; and what nobody rewrites rightly."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from neve.documents import to_document
from neve.model.errors import InputError
from neve.model.facts import PROOF_PROPERTY, ColumnFacts, DeleteKind
from neve.model.outcome import Status
from neve.model.plan import NothingToDo
from neve.model.policies import PolicyBook, PolicyRule, RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode, Strategy, Verify
from neve.service.left_alone import without_misread
from neve.service.plan_file import plan_of_document
from neve.service.policies import Policies
from neve.testing.facts import MB, TABLE, data_file, delete_file

pytestmark = pytest.mark.promise(2, 7)

POLICY = CompactionPolicy(target_file_size_bytes=100 * MB)
#: Engines with what makes the planner take them, and the level of their usual proof.
ENGINES = {
    "copy": (RewriteMode.AUTO, "bytes", "bytes"),
    "rewrite": (RewriteMode.REWRITE, "rows", "rows"),
    "spark": (RewriteMode.SPARK, "metadata", "rows"),
}


def run(services, engine, verify=None, strategy=Strategy.AUTO, by=()):
    arguments = RewriteDataFilesArguments(strategy, by, engine=ENGINES[engine][0], verify=verify)
    made = services.plan(TABLE, arguments, policy=POLICY)
    return services.apply(plan_of_document(to_document(made)))


def told(lake):
    return json.loads(lake.facts.ancestry()[0].summary[PROOF_PROPERTY])["level"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("verify", [None, *Verify])
def test_what_was_verified_is_in_outcome_snapshot_and_log(services, lake, engine, verify):
    outcome = run(services, engine, verify)

    usual, full = ENGINES[engine][1:]
    expected = {None: usual, Verify.FULL: full, Verify.METADATA: "metadata", Verify.OFF: "counts"}
    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert outcome.proof.level == told(lake) == expected[verify]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("verify", [None, *Verify])
def test_other_values_are_never_committed_where_values_are_read(services, lake, engine, verify):
    lake.change_values, before = True, lake.facts.snapshot_id
    is_read = verify is Verify.FULL or (verify is None and engine != "spark")

    outcome = run(services, engine, verify)

    assert outcome.status is (Status.FAILED if is_read else Status.SUCCEEDED)
    assert (lake.facts.snapshot_id == before) == is_read


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("verify", Verify)
def test_a_lost_row_is_never_committed_whatever_is_verified(services, lake, engine, verify):
    lake.lose_rows, before = 1, lake.facts.snapshot_id

    assert run(services, engine, verify).status is Status.FAILED
    assert lake.facts.snapshot_id == before


def test_an_engine_that_reads_nothing_back_has_proven_nothing(services, lake, monkeypatch):
    right = lake.stage

    def unread(*arguments):
        return [replace(files, proof=None) for files in right(*arguments)]

    monkeypatch.setattr(lake, "stage", unread)

    outcome = run(services, "spark", Verify.FULL)

    assert outcome.status is Status.FAILED
    assert "were not read back" in outcome.reason


def test_fingerprints_of_other_rows_than_were_counted_prove_nothing(services, lake, monkeypatch):
    right = lake.stage

    def of_others(*arguments):
        found = right(*arguments)
        return [replace(f, proof=replace(f.proof, expected="7:x", found="7:x")) for f in found]

    monkeypatch.setattr(lake, "stage", of_others)

    outcome = run(services, "spark", Verify.FULL)

    assert outcome.status is Status.FAILED
    assert "were held against 7 rows, and not 300" in outcome.reason


@pytest.mark.parametrize("is_wrong", [True, False])
def test_what_iceberg_commits_itself_is_read_afterwards(services, lake, is_wrong):
    lake.change_values, before = is_wrong, lake.facts.data_files

    outcome = run(services, "spark", Verify.FULL, Strategy.SORT, ("id",))

    if is_wrong:
        assert outcome.status is Status.FAILED
        assert "hold rows 400:changed where 400:all were" in outcome.reason
        assert lake.facts.data_files == before
    else:
        assert (outcome.status, outcome.proof.level) == (Status.SUCCEEDED, "rows")


@pytest.mark.parametrize(
    ("verify", "by"), [(None, "scan"), (Verify.METADATA, "scan"), (Verify.OFF, "rewrite")]
)
def test_rows_are_counted_again_after_the_commit_unless_it_is_turned_off(
    services, lake, monkeypatch, verify, by
):
    lake.delete_rows(delete_file("d", DeleteKind.POSITION, record_count=3, data_sequence_number=9))
    asked = []
    right = lake.live_rows
    outcome = None

    def counting(*arguments):
        asked.append(arguments)
        return right(*arguments)

    monkeypatch.setattr(lake, "live_rows", counting)
    outcome = run(services, "spark", verify)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert outcome.proof.deletes_counted_by == by
    assert bool(asked) == (by == "scan")


@pytest.mark.parametrize(
    ("planned", "policy", "used"),
    [
        (None, None, "metadata"),
        (Verify.OFF, None, "counts"),
        (Verify.OFF, Verify.METADATA, "metadata"),
        (Verify.OFF, Verify.FULL, "rows"),
        (Verify.FULL, Verify.OFF, "rows"),
        (None, Verify.OFF, "counts"),
    ],
)
def test_a_plan_asks_for_more_than_the_policy_says_and_never_for_less(
    services, planned, policy, used
):
    values = {"rewrite_data_files.verify": policy} if policy else {}
    book = PolicyBook((PolicyRule("all", values=values),))
    services = replace(services, policies=Policies(book))

    assert run(services, "spark", planned).proof.level == used


def test_what_has_no_fingerprint_cannot_be_asked_for(services, lake):
    column = ColumnFacts(7, "v", "variant", required=False)
    lake.facts = replace(lake.facts, columns=(*lake.facts.columns, column))

    with pytest.raises(InputError, match="column v has the type variant") as error:
        run(services, "spark", Verify.FULL)

    assert error.value.next_step == "Leave --verify out, or say --verify metadata."
    assert run(services, "spark", Verify.METADATA).status is Status.SUCCEEDED


ODD = "its column at holds timestamp[ns], and the table has timestamp"


def odd(lake, *names):
    lake.odd_files = {data_file(name, 1).path: ODD for name in names}


def test_files_that_spark_would_misread_stay_and_the_rest_of_their_group_is_rewritten(
    services, lake
):
    odd(lake, "mon-1")
    lake.append(data_file("mon-3", 10 * MB))

    outcome = run(services, "spark")

    assert outcome.status is Status.SUCCEEDED
    assert outcome.reason == (
        "3 files became 1. 1 file was left alone, because nobody would rewrite them rightly: of "
        f"{data_file('mon-1', 1).path} {ODD}."
    )
    assert [left.path for left in outcome.left_alone] == list(lake.odd_files)
    assert set(lake.odd_files) <= {file.path for file in lake.facts.data_files}


def test_what_is_refused_in_a_task_does_not_go_down_to_spark_to_be_misread(services, lake):
    odd(lake, "mon-0", "mon-1", "mon-2")
    lake.refuse_groups = {0: "nanoseconds"}
    before = lake.facts

    outcome = run(services, "rewrite")

    assert outcome.status is Status.NOTHING_TO_DO
    assert "3 files were left alone" in outcome.reason
    assert all(left.refused_by_all for left in outcome.left_alone)
    assert lake.facts.data_files == before.data_files


@pytest.mark.parametrize("engine", ["spark", "rewrite"])
def test_what_was_left_alone_is_not_planned_again(services, lake, engine):
    odd(lake, "mon-0", "mon-1")
    lake.refuse_groups = {0: "nanoseconds"} if engine == "rewrite" else {}
    run(services, engine)

    arguments = RewriteDataFilesArguments(engine=ENGINES[engine][0])
    again = services.plan(TABLE, arguments, policy=POLICY)

    assert again.is_empty
    assert again.reason == (
        "Partition day=mon: 2 files would be rewritten wrongly by everybody, and stay: of "
        f"{data_file('mon-0', 1).path} {ODD}."
    )
    assert NothingToDo.FILTER_MATCHES_NOTHING not in {reason.code for reason in again.reasons}
    # Another schema may read them rightly, and so may an engine that was not asked.
    lake.facts = replace(lake.facts, schema_id=9)
    assert not services.plan(TABLE, arguments, policy=POLICY).is_empty
    lake.facts = replace(lake.facts, schema_id=0)
    ours = services.plan(TABLE, RewriteDataFilesArguments(), policy=POLICY)
    assert ours.is_empty == (engine == "rewrite")


def test_a_partition_is_sorted_as_a_whole_or_not_at_all(services, lake):
    odd(lake, "mon-1")

    outcome = run(services, "spark", strategy=Strategy.SORT, by=("id",))

    paths = {file.path for file in lake.facts.data_files}
    assert outcome.status is Status.SUCCEEDED
    assert {data_file(f"mon-{n}", 1).path for n in range(3)} <= paths
    assert data_file("tue", 1).path not in paths

    # The next plan leaves out what was found; Iceberg's action would still take it along.
    again = run(services, "spark", strategy=Strategy.SORT, by=("id",))

    assert again.status is Status.NOTHING_TO_DO
    assert {data_file(f"mon-{n}", 1).path for n in range(3)} <= {
        file.path for file in lake.facts.data_files
    }


def test_a_file_that_nobody_planned_keeps_its_partition_from_being_sorted(services, lake):
    odd(lake, "mon-1")
    arguments = RewriteDataFilesArguments(
        engine=ENGINES["spark"][0], strategy=Strategy.SORT, sort_columns=("id",)
    )
    plan = services.plan(TABLE, arguments, policy=POLICY)
    (step,) = plan.steps
    odd_path = data_file("mon-1", 1).path
    groups = tuple(
        replace(g, files=tuple(f for f in g.files if f.path != odd_path)) for g in step.groups
    )

    kept, left = without_misread(services, lake.facts, replace(step, groups=groups), ())

    assert [each.path for each in left] == [odd_path]
    assert kept is not None
    assert not any("mon" in file.path for group in kept.groups for file in group.files)

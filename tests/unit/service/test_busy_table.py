"""Writers who commit while a run is on its way take groups from it, never the run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.unit.service.conftest import POLICY

from neve.documents import to_document
from neve.model.errors import CommitConflict, PlanStale
from neve.model.facts import ColumnFacts, DeleteKind, SpecFacts
from neve.model.job import JobRequest, JobState
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import RewriteMode, Strategy
from neve.planning.cost import CostModel
from neve.service.maintenance import Maintenance
from neve.service.operations.rewrite_data_files import MAY_SHRINK, PLAN
from neve.service.rounds import MAX_ROUNDS
from neve.service.run_job import submit
from neve.service.worker import Worker, WorkerSettings
from neve.testing.facts import MB, NOW, TABLE, data_file, delete_file, partition, table_facts
from neve.testing.lake import MemoryLake

pytestmark = pytest.mark.promise(3)

DAYS = ("mon", "tue", "wed")


@pytest.fixture
def lake():
    files = [
        data_file(f"{day}-{number}", 10 * MB, partition=partition(day))
        for day in DAYS
        for number in range(3)
    ]
    return MemoryLake(table_facts(files))


@pytest.fixture
def compact(services):
    def run(**request):
        asked = RewriteDataFilesArguments(**{"engine": RewriteMode.SPARK, **request})
        return services.compact(TABLE, asked, policy=POLICY)

    return run


def delete_from(lake, day, number=0, sequence_number=9):
    lake.delete_rows(
        delete_file(
            f"d-{day}-{sequence_number}",
            DeleteKind.POSITION,
            partition=partition(day),
            data_sequence_number=sequence_number,
            referenced_path=f"file:///lake/{day}-{number}",
        )
    )


def days_left(lake):
    """Days whose files are still those that were there at first."""
    firsts = {file.path for file in lake.facts.data_files}
    return [day for day in DAYS if f"file:///lake/{day}-0" in firsts]


def once(lake, hook, write):
    def let_in():
        setattr(lake, hook, lambda: None)
        write()

    setattr(lake, hook, let_in)


@pytest.mark.parametrize("hook", ["before_stage", "before_commit"])
def test_a_group_that_a_writer_deleted_from_is_planned_again_at_once(lake, compact, hook, store):
    once(lake, hook, lambda: delete_from(lake, "tue"))

    outcome = compact()

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0)
    assert outcome.reason == (
        "9 files became 3. 1 group was changed by writers meanwhile and planned again."
    )
    assert (outcome.proof.rows_in, outcome.proof.rows_deleted) == (900, 10)
    assert (days_left(lake), len(store.uncommitted_files(TABLE))) == ([], 1)
    # The innocent in one commit, the guilty in another.
    assert [s.operation for s in lake.facts.snapshots].count("replace") == 2


def test_a_plan_that_stands_alone_leaves_the_guilty_group(lake, services, plan):
    once(lake, "before_commit", lambda: lake.remove("file:///lake/tue-0"))

    outcome = services.apply(plan())

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 1)
    assert outcome.reason == (
        "6 files became 2. 1 group was changed by writers meanwhile and left to the next run."
    )
    assert "file:///lake/tue-1" in {file.path for file in lake.facts.data_files}


def test_a_file_that_was_taken_out_and_added_again_is_another_one(lake, services, plan):
    path = "file:///lake/tue-0"

    def write():
        (file,) = (file for file in lake.facts.data_files if file.path == path)
        lake.remove(path)
        lake.append(file)

    once(lake, "before_commit", write)

    outcome = services.apply(plan())

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 1)
    assert days_left(lake) == ["tue"]
    assert lake.facts.snapshot_id == lake.facts.snapshots[-1].snapshot_id


def test_writers_may_come_back_between_two_tries_of_a_commit(lake, compact):
    victims = iter(["mon", "tue"])

    def let_in():
        if (day := next(victims, None)) is not None:
            delete_from(lake, day)

    lake.before_commit = let_in

    outcome = compact()

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0)
    assert "2 groups were changed by writers meanwhile and planned again." in outcome.reason
    assert days_left(lake) == []


def test_a_writer_that_always_wins_is_yielded_to(lake, compact):
    numbers = iter(range(10, 1000))

    def let_in():
        for file in lake.facts.data_files:
            if "tue" in file.path:
                lake.remove(file.path)
                lake.append(replace(file, path=f"file:///lake/tue-{next(numbers)}"))

    lake.before_commit = let_in

    outcome = compact()

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 1)
    assert outcome.reason.endswith(
        "1 group was changed by writers meanwhile and left to the next run."
    )
    assert outcome.reason.count("planned again") == MAX_ROUNDS - 1


def test_only_partitions_of_guilty_groups_are_planned_again(lake, compact):
    def write():
        lake.remove("file:///lake/tue-0")
        lake.append(*(data_file(f"thu-{n}", MB, partition=partition("thu")) for n in range(3)))

    once(lake, "before_commit", write)

    compact()

    assert {f"file:///lake/thu-{n}" for n in range(3)} <= {f.path for f in lake.facts.data_files}


def test_a_group_that_fails_does_not_take_the_others_along(lake, compact):
    lake.fail_orders = {1: "a task was killed too often"}

    outcome = compact()

    assert outcome.status is Status.FAILED
    assert "a task was killed too often What was committed before stays." in outcome.reason
    assert days_left(lake) == ["tue"]


def test_rows_that_were_not_counted_are_not_proven(lake, services, plan, store):
    delete_from(lake, "tue")
    stage = lake.stage
    lake.stage = lambda *order: [replace(files, live_rows=None) for files in stage(*order)]

    outcome = services.apply(plan())

    assert outcome.status is Status.FAILED
    assert "Live rows were counted as -1 of 300" in outcome.reason
    assert (days_left(lake), len(store.uncommitted_files(TABLE))) == (["tue"], 1)


def test_ordering_rows_goes_on_group_by_group_after_a_conflict(lake, compact):
    def refuse(table, step, properties, reporter):
        if len(step.groups) > 1 or "tue" in step.groups[0].partition:
            raise CommitConflict("A writer was faster.")
        rewrite(table, step, properties, reporter)

    rewrite, lake.rewrite = lake.rewrite, refuse

    outcome = compact(strategy=Strategy.SORT, sort_columns=("id",))

    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 1)
    assert days_left(lake) == ["tue"]


def test_the_engine_is_ready_before_the_table_is_looked_at(lake, compact):
    def start_late():
        lake.remove("file:///lake/tue-0")
        return True

    lake.warm_up = start_late

    outcome = compact()

    assert outcome.reason == (
        "8 files became 3. 1 group was changed by writers meanwhile and planned again."
    )


def test_nothing_is_started_for_a_table_without_work(lake, compact):
    compact()
    lake.warmed_up = 0

    assert compact().status is Status.NOTHING_TO_DO
    assert lake.warmed_up == 0


def test_groups_that_writers_took_before_the_claim_are_planned_again(lake, compact, store):
    claim = store.claim

    def claim_late(*arguments):
        lake.remove("file:///lake/tue-0")
        return claim(*arguments)

    store.claim = claim_late

    outcome = compact()

    assert outcome.status is Status.SUCCEEDED
    assert days_left(lake) == []


def test_a_run_waits_for_the_writer_that_has_a_rhythm(lake, store, clock):
    pauses = []
    services = busy_world(lake, store, clock, pauses.append)
    for number in range(8):
        lake.append(data_file(f"new-{number}", MB))
    rhythm = [
        replace(s, committed_at=NOW - timedelta(seconds=1.5 + 2 * (9 - s.snapshot_id)))
        for s in lake.facts.snapshots
    ]
    lake.facts = replace(lake.facts, snapshots=tuple(rhythm))

    services.compact(TABLE, RewriteDataFilesArguments(engine=RewriteMode.SPARK), policy=POLICY)

    assert len(pauses) == 1
    assert 0 < pauses[0] <= 2


class Pauses(list):
    """Remembers pauses; the writer commits during one of them."""

    def __init__(self, number, write):
        super().__init__()
        self.number, self.write = number, write

    def __call__(self, seconds):
        self.append(seconds)
        if len(self) == self.number:
            self.write()


def busy_world(lake, store, clock, sleep):
    return Maintenance(
        surveyor=lake,
        make_engine=lambda: lake,
        store=store,
        clock=clock,
        reporter=lambda message: None,
        metadata=lake.metadata,
        log=lake,
        cost_model=CostModel(),
        lease_seconds=60,
        sleep=sleep,
    )


def with_irregular_commits(lake, ago):
    """Four commits without a rhythm, the gap usually two seconds, the last so long ago."""
    for number in range(4):
        lake.append(data_file(f"new-{number}", 90 * MB))
    times = dict(zip(range(5, 0, -1), (0, 0.4, 2.4, 6.4, 8.4), strict=True))
    rhythm = [
        replace(s, committed_at=NOW - timedelta(seconds=ago + times[s.snapshot_id]))
        for s in lake.facts.snapshots
    ]
    lake.facts = replace(lake.facts, snapshots=tuple(rhythm))
    lake.history[5] = lake.facts


def lose_once(lake):
    """A delete that leaves the commits of writers as they were."""

    def take():
        history = lake.facts.snapshots
        delete_from(lake, "tue")
        late = replace(lake.facts.snapshots[-1], committed_at=history[-1].committed_at)
        lake.facts = replace(lake.facts, snapshots=(*history, late))
        lake.history[lake.facts.snapshot_id] = lake.facts

    once(lake, "before_commit", take)


def test_after_a_conflict_the_work_begins_right_after_the_next_commit(lake, store, clock):
    with_irregular_commits(lake, ago=2.5)
    lose_once(lake)
    seen = []
    pauses = Pauses(4, lambda: lake.append(data_file("late", 90 * MB)))
    stage = lake.stage

    def look_and_stage(table, snapshot_id, orders, reporter):
        seen.append((len(pauses), snapshot_id == lake.facts.snapshot_id))
        return stage(table, snapshot_id, orders, reporter)

    lake.stage = look_and_stage
    services = busy_world(lake, store, clock, pauses)

    outcome = services.compact(
        TABLE, RewriteDataFilesArguments(engine=RewriteMode.SPARK), policy=POLICY
    )

    assert (outcome.status, days_left(lake)) == (Status.SUCCEEDED, [])
    assert seen == [(0, True), (4, True)]


@pytest.mark.parametrize(("ago", "pauses"), [(0.1, 0), (2.5, 2 * 20), (30.0, 0)])
def test_nobody_is_waited_for_longer_than_two_gaps(lake, store, clock, ago, pauses):
    with_irregular_commits(lake, ago)
    lose_once(lake)
    slept = Pauses(-1, None)
    services = busy_world(lake, store, clock, slept)

    outcome = services.compact(
        TABLE, RewriteDataFilesArguments(engine=RewriteMode.SPARK), policy=POLICY
    )

    assert (outcome.status, days_left(lake)) == (Status.SUCCEEDED, [])
    assert len(slept) == pauses


def test_a_group_that_is_always_taken_is_cut_until_a_part_fits(compact, lake, store):
    files = [data_file(f"mon-{n}", 20 * MB, partition=partition("mon")) for n in range(4)]
    lake.facts = replace(lake.facts, data_files=tuple(files))
    lake.history[1] = lake.facts
    stage, staged, numbers = lake.stage, [], iter(range(10, 100))

    def stage_then_write(table, snapshot_id, orders, reporter):
        result = stage(table, snapshot_id, orders, reporter)
        staged.append(sum(len(order.paths) for order in orders))
        if staged[-1] > 2:
            delete_from(lake, "mon", sequence_number=next(numbers))
        return result

    lake.stage = stage_then_write

    outcome = compact()

    assert staged == [4, 4, 2, 2]
    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0)
    assert len(lake.facts.data_files) == 2


def changed_schema(facts):
    column = ColumnFacts(3, "extra", "int", False)
    return replace(facts, schema_id=1, columns=(*facts.columns, column))


def changed_spec(facts):
    return replace(facts, current_spec_id=1, specs={**facts.specs, 1: SpecFacts(1, ())})


STALE = {
    "a file is gone": lambda lake: lake.remove("file:///lake/tue-0"),
    "a file has a new delete": lambda lake: delete_from(lake, "tue"),
    "the schema changed": lambda lake: setattr(lake, "facts", changed_schema(lake.facts)),
    "the spec changed": lambda lake: setattr(lake, "facts", changed_spec(lake.facts)),
    "the table was made again": lambda lake: setattr(
        lake, "facts", replace(lake.facts, table_uuid="2" * 36)
    ),
}


@pytest.mark.parametrize("change", STALE)
def test_a_plan_is_stale_where(services, plan, lake, change, store):
    made = plan()
    STALE[change](lake)
    before = lake.facts

    with pytest.raises(PlanStale):
        services.apply(made)

    assert (lake.facts, store.jobs()) == (before, [])


def expire(lake):
    """The snapshot that the plan was made from is gone from the log."""
    lake.append(data_file("late", MB))
    kept = tuple(s for s in lake.facts.snapshots if s.snapshot_id != 1)
    lake.facts = replace(lake.facts, snapshots=kept)


HARMLESS = {
    "an append": lambda lake: lake.append(data_file("late", MB)),
    "an append into a planned partition": lambda lake: lake.append(
        data_file("late", MB, partition=partition("tue"))
    ),
    "a delete elsewhere": lambda lake: (
        lake.append(data_file("fri-0", 90 * MB, partition=partition("fri"))),
        delete_from(lake, "fri"),
    ),
    "a manifest rewrite": lambda lake: lake.commit("replace", {}),
    "an expiry": expire,
    "a tag": lambda lake: lake.create_tag(TABLE, 1, "mine", 1000),
}


@pytest.mark.parametrize("change", HARMLESS)
def test_a_plan_is_not_stale_after(services, plan, lake, change):
    made = plan()
    HARMLESS[change](lake)

    outcome = services.apply(made)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert outcome.stats.files_compacted == 9
    assert days_left(lake) == []


def test_the_undo_tag_names_the_head_and_not_the_snapshot_of_the_plan(services, plan, lake):
    made = plan()
    lake.append(data_file("late", MB))

    services.apply(made)

    (tag,) = (ref for ref in lake.facts.refs if ref.kind == "tag")
    assert tag.snapshot_id == 2


def test_an_old_delete_is_no_new_one(services, plan, lake):
    delete_from(lake, "tue")
    made = plan()
    lake.append(data_file("late", MB))

    outcome = services.apply(made)

    assert (outcome.status, outcome.proof.rows_deleted) == (Status.SUCCEEDED, 10)


@pytest.mark.parametrize(
    ("days", "where"),
    [(DAYS, "3 partitions, day=mon among them"), (DAYS[:1], "partition day=mon")],
)
def test_a_conflict_tells_who_came_in_between_and_where(services, lake, days, where):
    kept = [file for file in lake.facts.data_files if file.partition[1][0] in days]
    lake.facts = replace(lake.facts, data_files=tuple(kept))
    lake.history[lake.facts.snapshot_id] = lake.facts
    arguments = RewriteDataFilesArguments(engine=RewriteMode.SPARK)
    made = services.plan(TABLE, arguments, policy=POLICY)
    once(lake, "before_commit", lambda: [lake.remove(f"file:///lake/{day}-0") for day in days])

    outcome = services.apply(made)

    head = lake.facts.ancestry()[0]
    who = f"Snapshot {head.snapshot_id} (overwrite at {head.committed_at.isoformat()})"
    more = f", the last of {len(days)} commits," if len(days) > 1 else ""
    assert outcome.status is Status.FAILED
    assert f"{who}{more} came in between and changed {where}." in outcome.reason


def run_queued(services, made, before_it_runs=lambda: None):
    """The end of a job that was queued with a plan that may shrink."""
    asked = {PLAN: to_document(made), MAY_SHRINK: True}
    job = submit(services, JobRequest(TABLE, "rewrite_data_files", asked))
    before_it_runs()
    worker = Worker(services, WorkerSettings())
    assert worker.take()
    assert worker.wait_for_jobs(20)
    return services.store.job(job.job_id)


@pytest.mark.parametrize(
    ("change", "state", "files"),
    [
        ("a file is gone", JobState.SUCCEEDED, 4),
        ("a file has a new delete", JobState.SUCCEEDED, 5),
        ("the schema changed", JobState.FAILED, 9),
        ("the spec changed", JobState.FAILED, 9),
        ("the table was made again", JobState.FAILED, 9),
    ],
)
def test_a_plan_that_may_shrink_is_run_as_far_as_it_holds(
    services, plan, lake, change, state, files
):
    ended = run_queued(services, plan(), lambda: STALE[change](lake))
    assert (ended.state, len(lake.facts.data_files)) == (state, files)


def test_a_plan_whose_files_others_compacted_has_nothing_left_to_do(services, plan, lake):
    made = plan()
    ended = run_queued(services, made, lambda: services.apply(made))
    assert (ended.state, ended.reason) == (
        JobState.SUCCEEDED,
        "Others compacted or changed all files of the plan since it was made.",
    )

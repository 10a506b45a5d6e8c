"""Every kind of change by a writer, at every phase of a native rewrite.

What must be is what readers saw right after the writer's commit: the same rows, on format v3 with
the same ids and sequence numbers. Nothing sleeps: the writer is let in at the phase itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import pytest

from neve.model.facts import REBASED_FROM_PROPERTY
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode
from neve.spark import engine as spark_engine
from neve.spark.rewrite import publish
from neve.spark.rewrite.task import run_task
from neve.spark.rewrite.tasks import rewrite

pytestmark = pytest.mark.promise(1, 3)

BY_DELETE_FILES = {
    f"write.{operation}.mode": "merge-on-read" for operation in ("delete", "update", "merge")
}
COLUMNS = "id BIGINT, kind STRING, payload STRING"
VALUES = ("id", "concat('k', k) AS kind", "concat('p', id) AS payload")
#: A delete that makes the commit one that must follow.
FIRST_DELETE = "DELETE FROM {t} WHERE id IN (0, 1)"


def _sql(*statements: str) -> Callable[..., None]:
    def write(lake, table) -> None:
        for statement in statements:
            lake.sql(statement.format(t=table))

    return write


def _delete_by_value(lake, table) -> None:
    lake.delete_equal(table, "id", 4, 6, partition="kind=k0")


def _delete_by_value_and_write_again(lake, table) -> None:
    _delete_by_value(lake, table)
    _append(lake, table, start=4, rows=1)


def _append(lake, table, start=100, rows=4) -> None:
    lake.fill(table, *VALUES, start=start, rows=rows, files=1)


def _upgrade(lake, table) -> None:
    lake.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('format-version' = '3')")
    # Rows get their ids with the first commit of the new format.
    _append(lake, table)


def _roll_back(lake, table) -> None:
    parent = lake.head(table).parent_id
    lake.sql(f"CALL lake.system.rollback_to_snapshot('{table}', {parent})")


@dataclass(frozen=True)
class Kind:
    """One kind of change: what the table is like before it, and what the writer does."""

    write: Callable[..., None]
    version: int = 3
    properties: dict[str, str] = field(default_factory=dict)
    #: What was done to the table before it is planned.
    before: tuple[str, ...] = ()
    #: Whether the rewrite gets through with it, or is done again where the writer was.
    is_followed: bool = True
    #: What the run may say instead of getting through.
    refusal: str | None = None
    #: Whether pyiceberg reads what is left.
    is_read_by_pyiceberg: bool = True


_COPY_ON_WRITE = "ALTER TABLE {t} SET TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')"
_BY_FILE = {"write.delete.granularity": "file"}
_BY_PARTITION = {"write.delete.granularity": "partition"}
KINDS = {
    "a position delete file": Kind(_sql("DELETE FROM {t} WHERE id IN (2, 3, 17)"), 2, _BY_FILE),
    "position deletes of a partition": Kind(
        _sql("DELETE FROM {t} WHERE id % 8 < 3"), 2, _BY_PARTITION
    ),
    "position deletes beside older ones": Kind(
        _sql("DELETE FROM {t} WHERE id IN (2, 7, 8)"),
        2,
        _BY_PARTITION,
        before=("DELETE FROM {t} WHERE id IN (6, 7, 9)",),
    ),
    "a new vector": Kind(_sql("DELETE FROM {t} WHERE id IN (2, 3, 17)")),
    "a merged vector": Kind(
        _sql("DELETE FROM {t} WHERE id IN (2, 7, 8)"),
        before=("DELETE FROM {t} WHERE id IN (6, 9)",),
    ),
    "an equality delete": Kind(_delete_by_value, 2, is_read_by_pyiceberg=False),
    "an equality delete of format v3": Kind(_delete_by_value, 3, is_read_by_pyiceberg=False),
    "an equality delete and the row again": Kind(
        _delete_by_value_and_write_again, 3, is_read_by_pyiceberg=False
    ),
    "an update": Kind(_sql("UPDATE {t} SET payload = 'new' WHERE id IN (2, 3, 17)")),
    "an overwrite of a source": Kind(
        _sql(_COPY_ON_WRITE, "DELETE FROM {t} WHERE id = 4"), is_followed=False
    ),
    "the removal of sources": Kind(_sql("DELETE FROM {t} WHERE kind = 'k1'"), is_followed=False),
    "an append": Kind(_append),
    "an upgrade of the format": Kind(_upgrade, 2, is_followed=False),
    "a change of the schema": Kind(
        _sql("ALTER TABLE {t} ADD COLUMN extra INT", "ALTER TABLE {t} RENAME COLUMN payload TO p")
    ),
    "a dropped column": Kind(_sql("ALTER TABLE {t} DROP COLUMN payload")),
    "a change of the spec": Kind(_sql("ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)")),
    "a rewrite by Iceberg": Kind(
        _sql(
            "CALL lake.system.rewrite_data_files(table => '{t}', where => 'kind = \"k0\"', "
            "options => map('min-input-files', '2'))"
        ),
        is_followed=False,
    ),
    "a rollback": Kind(
        _roll_back,
        before=("INSERT INTO {t} VALUES (200, 'k0', 'x'), (201, 'k1', 'y')",),
        is_followed=False,
        # Nobody can tell it from a commit that a catalog lost.
        refusal="is no longer part of the table's history",
    ),
    "a write to a branch": Kind(
        _sql(
            "ALTER TABLE {t} CREATE BRANCH side",
            "DELETE FROM {t}.branch_side WHERE id % 2 = 0",
        )
    ),
    "a tag": Kind(_sql("ALTER TABLE {t} CREATE TAG theirs")),
}
BEFORE_READING = "before reading"
BETWEEN_TASKS = "between tasks"
BEFORE_THE_PROOF = "after writing, before the proof"
AFTER_THE_PROOF = "after the proof, before the commit"
AFTER_FOLLOWING = "after following, before the commit"
BEFORE_THE_SWAP = "between the new snapshot and the swap"
BEFORE_THE_SECOND_SWAP = "between a snapshot that follows and the swap"
#: These need a commit that follows deletes, so that another delete comes before them.
NEED_A_DELETE = (AFTER_FOLLOWING, BEFORE_THE_SECOND_SWAP)
PHASES = (
    *(BEFORE_READING, BETWEEN_TASKS, BEFORE_THE_PROOF, AFTER_THE_PROOF, BEFORE_THE_SWAP),
    *NEED_A_DELETE,
)


class Once:
    """Lets the writer in the first time that a phase is reached."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act
        self.is_done = False

    def __call__(self) -> None:
        if not self.is_done:
            self.is_done = True
            self.act()


def around(work, *, before=None, after=None):
    """The function with a writer before or behind it."""

    def hooked(*arguments, **named):
        if before:
            before()
        answer = work(*arguments, **named)
        if after:
            after()
        return answer

    return hooked


def in_this_process(after_each: Callable[[], None]):
    """The tasks one after the other, where tests can reach into them."""

    def run_tasks(session, tasks, wanted, storage, written):
        results = []
        for task in tasks:
            results.append(run_task(task, wanted, storage, 0))
            after_each()
        return results

    return run_tasks


def let_in(lake, monkeypatch, phase: str, write: Once, delete: Once) -> None:
    """Have the writer come at the phase."""
    engine = lake.app.spark

    def hook(target, name, **when):
        monkeypatch.setattr(target, name, around(getattr(target, name), **when))

    if phase in NEED_A_DELETE:
        hook(engine, "run_tasks", after=delete)
    match phase:
        case "before reading":
            hook(engine, "run_tasks", before=write)
        case "between tasks":
            monkeypatch.setattr(spark_engine, "run_tasks", in_this_process(write))
        case "after writing, before the proof":
            monkeypatch.setattr(spark_engine, "run_tasks", in_this_process(lambda: None))
            hook(rewrite, "_check", before=write)
        case "after the proof, before the commit":
            hook(engine, "run_tasks", after=write)
        case "after following, before the commit":
            hook(engine, "change_files", before=write)
        case _:
            # Asked for after the snapshot is made, and before the metadata is swapped.
            hook(publish, "iceberg", before=write)


def refs_of_others(lake, table) -> dict[str, int]:
    """Branches and tags without main, which the run moves, and without the tag of its undo."""
    refs = {ref.name: ref.snapshot_id for ref in lake.facts(table).refs}
    return {n: id_ for n, id_ in refs.items() if n != "main" and not n.startswith("neve-")}


def chosen() -> list[tuple[str, str]]:
    """Two phases for each kind, by ATTACK_SEED; all of them with ATTACK_FULL=1."""
    if os.environ.get("ATTACK_FULL", "") not in ("", "0"):
        return [(kind, phase) for kind in KINDS for phase in PHASES]
    drawn, phases = Random(os.environ.get("ATTACK_SEED", "20261117")), sorted(PHASES)
    return [(kind, phase) for kind in KINDS for phase in drawn.sample(phases, 2)]


@pytest.mark.conformance("a change at every phase", engines=("rewrite",), versions=(2, 3))
@pytest.mark.parametrize(("kind", "phase"), chosen())
def test_nothing_of_a_writer_is_lost_and_no_row_comes_back(lake, monkeypatch, kind, phase):
    case = KINDS[kind]
    properties = {**BY_DELETE_FILES, **case.properties}
    table = lake.create(COLUMNS, by="kind", version=case.version, properties=properties)
    lake.fill(table, *VALUES, files=2, rows=20)
    _sql(*case.before)(lake, table)
    seen, refs = [], []

    def look():
        version = lake.facts(table).format_version
        return lake.lineage(table) if version == 3 else lake.rows(table)

    def write() -> None:
        case.write(lake, table)
        seen.append(look())
        refs.append(refs_of_others(lake, table))

    writer = Once(write)
    delete = Once(lambda: _sql(FIRST_DELETE)(lake, table))
    let_in(lake, monkeypatch, phase, writer, delete)

    outcome = lake.app.maintenance.compact(
        table, RewriteDataFilesArguments(), policy=CompactionPolicy()
    )

    assert writer.is_done
    assert look() == seen[0]
    if outcome.status is Status.FAILED and case.refusal:
        assert case.refusal in outcome.reason
        return
    assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0), outcome.reason
    if case.is_read_by_pyiceberg:
        found = lake.app.catalogs.load(table).scan().to_arrow()["id"].to_pylist()
        rows = lake.sql(f"SELECT id FROM {table}").collect()
        assert sorted(found) == sorted(row.id for row in rows)
    assert refs_of_others(lake, table) == refs[0]
    if case.is_followed:
        assert "planned again" not in outcome.reason
        if phase in NEED_A_DELETE:
            assert REBASED_FROM_PROPERTY in lake.head(table).summary


@pytest.mark.parametrize("engine", ["spark", "copy"])
def test_rows_that_got_their_ids_meanwhile_keep_them(lake, monkeypatch, engine):
    """An upgrade and a commit number all rows, also those that are just being rewritten."""
    table = lake.create(COLUMNS, version=2)
    lake.fill(table, *VALUES, files=2, rows=20)
    write = Once(lambda: _upgrade(lake, table))
    for work in ("stage", "run_tasks"):
        wrapped = around(getattr(lake.app.spark, work), after=write)
        monkeypatch.setattr(lake.app.spark, work, wrapped)
    mode = RewriteMode.SPARK if engine == "spark" else RewriteMode.AUTO

    outcome = lake.app.maintenance.compact(
        table,
        RewriteDataFilesArguments(engine=mode),
        policy=CompactionPolicy(min_row_group_bytes=1),
    )

    assert (write.is_done, outcome.status) == (True, Status.SUCCEEDED), outcome.reason
    upgraded = lake.facts(table).ancestry()[::-1][1].snapshot_id
    seen = lake.rows(
        table, "*, _row_id, _last_updated_sequence_number", at=f"VERSION AS OF {upgraded}"
    )
    assert lake.lineage(table) == seen

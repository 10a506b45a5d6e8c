"""Two tables of one history: one is cured by Neve, the other by Iceberg's own action.

Both share all files of the history: the second is the first one's metadata under another name. What
they must agree on is read by Spark, by pyiceberg and, of files that are new, by DuckDB and polars.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyiceberg.catalog import Catalog
from pyspark.errors import PySparkException
from tests.fuzz import questions
from tests.fuzz.actions import act
from tests.fuzz.histories import CURES, History
from tests.fuzz.values import texts
from tests.fuzz.world import FIRST_WITH_LINEAGE, World, make_world
from tests.spark.conftest import Lake

from neve.model.facts import ENGINE_PROPERTY
from neve.model.outcome import Outcome, Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy, RewriteMode

ROW_ID, FILE = "_row_id", "_file"
LINEAGE = (ROW_ID, "_last_updated_sequence_number")
#: What manifests say of a file, besides its name and sizes.
MEASURED = (
    "record_count, value_counts, null_value_counts, nan_value_counts, lower_bounds, upper_bounds, "
    "sort_order_id, spec_id"
)
OWN_REFS = "neve-"
METRICS = "write.metadata.metrics."
DEFAULT_TARGET_BYTES = 128 << 20
#: What pyiceberg raises for tables that it does not read.
UNREADABLE = (ValueError, NotImplementedError, TypeError, KeyError, pa.ArrowException)


class Differs(AssertionError):
    """What Neve made of the table is not what it was, or not what Iceberg makes of it."""


@dataclass(frozen=True)
class Seen:
    """A table as Spark sees it, row by row, and its metadata."""

    rows: pa.Table
    metadata: dict[str, Any]

    @property
    def files(self) -> set[str]:
        return set(self.rows[FILE].to_pylist())

    def plain(self) -> pa.Table:
        """Without what a reader adds."""
        return self.rows.drop_columns([n for n in (*LINEAGE, FILE) if n in self.rows.schema.names])

    def of_file(self, path: str) -> pa.Table:
        return self.rows.filter(pc.equal(self.rows[FILE], path)).drop_columns([FILE])


@dataclass(frozen=True)
class Verdict:
    """What came of a history: which engines cured it, what was said, and what had happened."""

    engines: str
    reason: str = ""
    done: Counter[str] = field(default_factory=Counter)
    #: What is not as it should be, and none of Neve's doing.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cure:
    """How Neve is asked to cure a table."""

    engine: RewriteMode
    min_row_group_bytes: int
    #: Files that the table should come to; more than one cuts groups.
    outputs: int = 1


def examine(lake: Lake, catalog: Catalog, folder: Path, history: History, name: str) -> Verdict:
    """Live through the history, cure both tables, and raise Differs where they are not as one."""
    world = make_world(lake, catalog, folder, history, name)
    for step in history.steps:
        act(world, step)
    if world.loaded().current_snapshot() is None:
        return Verdict("none", "nothing was written", world.done)
    engine, keep = CURES[history.cure]
    cure = Cure(RewriteMode(engine), keep, history.outputs)
    return compare(world, [cure], seed=history.to_json())[0]


def compare(world: World, cures: Sequence[Cure], *, seed: str) -> list[Verdict]:
    """Cure the table in each of these ways and by Iceberg, each time as it is now.

    Raises Differs where a cure is not as it should be.
    """
    try:
        before = see(world)
    except (Py4JJavaError, PySparkException):
        # A name that was given away again with another type: Spark cannot read what it wrote.
        return [Verdict("", "Spark cannot read the table.", world.done) for _ in cures]
    python_before = by_pyiceberg(world)
    if python_before != Counter(texts(before.plain())):
        # It does not read this table, or not as Iceberg does.
        python_before = None
    worlds = [world.registered_again(f"{world.table.name}_{n}") for n in range(len(cures) + 1)]
    theirs = worlds.pop()
    cure_by_iceberg(theirs)
    twin, verdicts = see(theirs), []
    if by_pyiceberg(theirs) != python_before:
        # It does not read what Iceberg writes of it: null lists of structs are empty ones to it.
        python_before = None
    for cure, own in zip(cures, worlds, strict=True):
        outcome = run_cure(own, cure)
        after = see(own)
        check_rows(before, after)
        check_metadata(before, after)
        if python_before is not None:
            expect("rows by pyiceberg", by_pyiceberg(own), python_before)
        new = sorted(after.files - before.files)
        for path in new:
            check_file(after.of_file(path), local(path))
        check_answers(own, theirs, after, new, random.Random(seed), python_before is not None)
        notes = tuple(check_twin(own, theirs, before, after, twin, cure))
        verdicts.append(Verdict(_engines(own, outcome), outcome.reason, world.done, notes))
    return verdicts


def local(path: str) -> str:
    return path.removeprefix("file://").removeprefix("file:")


def expect(what: str, found: object, expected: object) -> None:
    if found == expected:
        return
    if isinstance(found, Counter) and isinstance(expected, Counter):
        missing, extra = expected - found, found - expected
        raise Differs(f"{what}: missing {sorted(missing)[:5]}, instead {sorted(extra)[:5]}")
    raise Differs(f"{what}: {found!r}, and it should be {expected!r}")


def see(world: World) -> Seen:
    world.refresh()
    metadata = world.loaded().metadata
    columns = ["*", FILE, *(LINEAGE if metadata.format_version >= FIRST_WITH_LINEAGE else ())]
    rows = world.lake.sql(f"SELECT {', '.join(columns)} FROM {world.table}").toArrow()
    refs = {n: r.snapshot_id for n, r in metadata.refs.items() if not n.startswith(OWN_REFS)}
    refs.pop("main", None)
    told = {
        "schema": metadata.schema().model_dump_json(),
        "spec": metadata.spec().model_dump_json(),
        "order": metadata.default_sort_order_id,
        "properties": dict(metadata.properties),
        "version": metadata.format_version,
        "refs": refs,
    }
    return Seen(rows, told)


def by_pyiceberg(world: World) -> Counter[str] | None:
    try:
        return Counter(texts(world.loaded().scan().to_arrow()))
    except UNREADABLE:
        return None


def run_cure(world: World, cure: Cure) -> Outcome:
    target, table = DEFAULT_TARGET_BYTES, world.table
    if cure.outputs > 1:
        sizes = [file.size_bytes for file in world.lake.facts(table).data_files]
        target = max(1, sum(sizes) // cure.outputs)
    policy = CompactionPolicy(
        min_row_group_bytes=cure.min_row_group_bytes, target_file_size_bytes=target
    )
    request = RewriteDataFilesArguments(engine=cure.engine)
    maintenance = world.lake.app.maintenance
    plan = maintenance.plan(table, request, policy=policy)
    outcome = maintenance.apply(plan)
    if outcome.status not in (Status.SUCCEEDED, Status.NOTHING_TO_DO):
        raise Differs(f"The run ended as {outcome.status}: {outcome.reason}")
    return outcome


def cure_by_iceberg(world: World) -> None:
    world.sql(
        "CALL lake.system.rewrite_data_files(table => '{t}', options => map("
        "'rewrite-all', 'true', 'use-starting-sequence-number', 'false'))"
    )


def _engines(world: World, outcome: Outcome) -> str:
    if outcome.status is Status.NOTHING_TO_DO:
        return "nothing to do"
    history = world.lake.facts(world.table).ancestry()
    names = {
        part.partition("=")[0]
        for snapshot in history
        if snapshot.job_id == outcome.job_id
        for part in snapshot.summary.get(ENGINE_PROPERTY, "none").split(",")
    }
    return "+".join(sorted(names))


def check_rows(before: Seen, after: Seen) -> None:
    """The same rows; those that had an id have it still, and the others got one of their own."""
    expect("rows", Counter(texts(after.plain())), Counter(texts(before.plain())))
    if ROW_ID not in before.rows.schema.names:
        return
    known = before.rows.filter(pc.is_valid(before.rows[ROW_ID]))
    expected = Counter(texts(known.drop_columns([FILE])))
    found = Counter(texts(after.rows.drop_columns([FILE])))
    if known.num_rows == before.rows.num_rows:
        expect("rows with their ids", found, expected)
    elif expected - found:
        raise Differs(f"rows with their ids: missing {sorted(expected - found)[:5]}")
    ids = [each for each in after.rows[ROW_ID].to_pylist() if each is not None]
    expect("row ids that are there twice", len(ids) - len(set(ids)), 0)


def check_metadata(before: Seen, after: Seen) -> None:
    for name, expected in before.metadata.items():
        expect(name, after.metadata[name], expected)


def check_file(expected: pa.Table, path: str) -> None:
    """A new file alone, read by those who know nothing of its table."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        query = "FROM read_parquet($1, hive_partitioning = false)"
        found = db.sql(query, params=[path]).to_arrow_table()
    # A null among stored ids means that the id is inherited, of which a file knows nothing.
    inherited = [n for n in LINEAGE if n in found.schema.names and found[n].null_count]
    inherited += [n for n in LINEAGE if n in expected.schema.names and n not in found.schema.names]
    expected = expected.drop_columns(inherited)
    found = found.drop_columns([n for n in inherited if n in found.schema.names])
    expect("a new file by DuckDB", Counter(texts(found)), _rows(expected))
    # It has no maps, and reads them as lists.
    names = [f.name for f in expected.schema if not _has_map(f.type)]
    by_polars = polars.read_parquet(path, columns=names, glob=False).to_arrow()
    # And UUIDs as their bytes, where Spark and DuckDB have their text.
    names = [n for n in names if _is_binary(by_polars, n) == _is_binary(expected, n)]
    by_polars = by_polars.select(names)
    expect("a new file by polars", Counter(texts(by_polars)), _rows(expected.select(names)))


def _is_binary(table: pa.Table, name: str) -> bool:
    of = table.schema.field(name).type
    return pa.types.is_binary(of) or pa.types.is_large_binary(of) or pa.types.is_binary_view(of)


def _rows(table: pa.Table) -> Counter[str]:
    return Counter(texts(table))


def _has_map(of: pa.DataType) -> bool:
    return pa.types.is_map(of) or any(_has_map(of.field(n).type) for n in range(of.num_fields))


def check_answers(
    world: World,
    theirs: World,
    after: Seen,
    new: Sequence[str],
    choose: random.Random,
    asks_pyiceberg: bool,
) -> None:
    rows = after.plain()
    drawn = questions.draw_questions(world, rows, choose)
    if not drawn:
        return
    in_new = pa.concat_tables([after.of_file(path) for path in new]) if new else None
    paths = [local(path) for path in new]
    try:
        answers = questions.by_spark(world, drawn)
    except (Py4JJavaError, PySparkException):
        if _is_answered(theirs, drawn):
            raise
        # Spark stumbles over the question itself, also where Iceberg wrote the files.
        return
    for question, found in zip(drawn, answers, strict=True):
        told = question.sql(questions.SPARK)
        expected = questions.truth(question, rows)
        expect(f"{told} by Spark", found, expected)
        if question.is_beyond_arrow:
            continue
        answer = questions.by_pyiceberg(world, question) if asks_pyiceberg else None
        if answer is not None and not _is_its_own_fault(theirs, question, answer, expected):
            expect(f"{told} by pyiceberg", answer, expected)
        if in_new is not None:
            expected = questions.truth(question, in_new)
            expect(f"{told} by DuckDB", questions.by_duckdb(paths, question), expected)


def _is_its_own_fault(
    theirs: World, question: questions.Question, answer: questions.Ids, expected: questions.Ids
) -> bool:
    """Whether pyiceberg leaves out the same rows where Iceberg wrote the files.

    It finds no row by 3e30 in a table that is partitioned by such numbers, whoever wrote it.
    """
    return answer != expected and questions.by_pyiceberg(theirs, question) == answer


def _is_answered(world: World, drawn: Sequence[questions.Question]) -> bool:
    try:
        questions.by_spark(world, drawn)
    except (Py4JJavaError, PySparkException):
        return False
    return True


def check_twin(
    world: World, theirs: World, before: Seen, after: Seen, twin: Seen, cure: Cure
) -> Iterator[str]:
    """What Iceberg made of the same table; where it lost rows itself, that is told."""
    if Counter(texts(twin.plain())) != Counter(texts(before.plain())):
        yield "Iceberg's action changed rows"
        return
    only_spark = not {"append by pyiceberg", "append by duckdb"} & world.done.keys()
    has_own_metrics = any(key.startswith(METRICS) for key in before.metadata["properties"])
    if cure.outputs > 1 or not only_spark or has_own_metrics:
        return
    ours, other = measured(world), measured(theirs)
    if ours.total() == other.total() == len(after.files - before.files):
        expect("statistics", ours, other)


def measured(world: World) -> Counter[str]:
    found = world.sql(f"SELECT {MEASURED} FROM {{t}}.data_files").collect()
    rows = [row.asDict(recursive=True) for row in found]
    return Counter(repr([(name, _in_order(row[name])) for name in sorted(row)]) for row in rows)


def _in_order(measure: object) -> object:
    """Having no counts and having counts of no column are the same, and columns have no order."""
    return (dict(sorted(measure.items())) if isinstance(measure, dict) else measure) or None

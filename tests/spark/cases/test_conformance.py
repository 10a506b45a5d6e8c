"""Cases that Iceberg's own tests leave out, by every engine, beside Iceberg's own action.

Each table is cured as often as there are engines, every time from the same state, and held against
the table before and against what Iceberg makes of it: rows, row ids, schema, refs and statistics,
by Spark, pyiceberg, DuckDB and polars.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import FixedType, LongType, NestedField, StringType, TimeType, UUIDType
from tests.fuzz.twins import Cure, Verdict, compare, local
from tests.fuzz.world import World
from tests.spark.conftest import Lake

from neve.model.outcome import Status
from neve.model.policy import RewriteMode
from neve.model.rewrite import FileDetails
from neve.spark.rewrite.commit import java_files
from neve.spark.tables import spark_name

pytestmark = pytest.mark.promise(1, 2)

BY_DELETE_FILES = {
    f"write.{operation}.mode": "merge-on-read" for operation in ("delete", "update", "merge")
}
#: Row groups are too small to be kept, kept where they can be, and copied where they can be.
CURES = (
    Cure(RewriteMode.REWRITE, 4 << 20),
    Cure(RewriteMode.REWRITE, 1),
    Cure(RewriteMode.AUTO, 1),
    Cure(RewriteMode.SPARK, 4 << 20),
)


@dataclass(frozen=True)
class Bench:
    """Makes tables of a case, and has them cured by everybody."""

    lake: Lake
    catalog: Catalog
    folder: Path

    def table(self, columns: str, version: int, **how: Any) -> World:
        how = {"properties": BY_DELETE_FILES if version > 1 else {}, **how}
        made = self.lake.create(columns, version=version, **how)
        return World(self.lake, self.catalog, self.folder, made)

    def compare(self, world: World, cures: tuple[Cure, ...] = CURES) -> list[Verdict]:
        """Nothing differs, and every engine that was asked for did its work."""
        verdicts = compare(world, cures, seed=world.table.name)
        assert verdicts[0].engines == "rewrite", verdicts[0]
        assert not any(verdict.notes for verdict in verdicts)
        return verdicts


@pytest.fixture
def bench(lake, catalogs, tmp_path) -> Iterator[Bench]:
    with closing(load_catalog("lake", **catalogs["lake"])) as catalog:
        yield Bench(lake, catalog, tmp_path)


def insert(world: World, *rows: str) -> None:
    """One file for each text of rows."""
    for each in rows:
        world.sql(f"INSERT INTO {{t}} VALUES {each}")


@pytest.mark.conformance(
    "NaN, both zeros, empty strings, nulls, files without rows",
    engines=("rewrite", "copy", "spark"),
)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_values_that_statistics_stumble_over(bench, version):
    world = bench.table("id BIGINT, x DOUBLE, y FLOAT, s STRING, none INT", version)
    nan, minus = "double('NaN')", "double('-0.0')"
    insert(
        world,
        f"(1, {nan}, float('NaN'), '', NULL), (2, 1.0D, 1.0F, 'a', NULL)",
        f"(3, {minus}, float('-0.0'), '', NULL), (4, 0.0D, 0.0F, NULL, NULL)",
        f"(5, {nan}, float('NaN'), NULL, NULL)",
        f"(6, 2.0D, 1.5F, 'z', NULL), (7, {nan}, NULL, '', NULL)",
    )

    bench.compare(world)


@pytest.mark.conformance(
    "NaN, both zeros, empty strings, nulls, files without rows", engines=("rewrite", "spark")
)
@pytest.mark.parametrize("version", [2, 3])
def test_files_without_rows(bench, version):
    world = bench.table("id BIGINT, s STRING", version)
    insert(world, "(1, 'a')", "(2, NULL)")
    schema = world.loaded().schema().as_arrow()
    path = bench.folder / "empty.parquet"
    pq.write_table(schema.empty_table(), path)
    java = bench.lake.java(world.table)
    details = FileDetails(f"file:{path}", 0, (), path.stat().st_size, 0)
    (file,) = java_files(bench.lake.session, java, [details])
    java.newAppend().appendFile(file).commit()

    bench.compare(world)


@pytest.mark.conformance(
    "decimals, bytes, moments before 1970 and in 9999", engines=("rewrite", "copy", "spark")
)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_numbers_and_moments_at_their_ends(bench, version):
    world = bench.table(
        "id BIGINT, a DECIMAL(9, 2), b DECIMAL(18, 0), c DECIMAL(19, 4), d DECIMAL(38, 10), "
        "raw BINARY, day DATE, at TIMESTAMP, local TIMESTAMP_NTZ",
        version,
    )
    decimals = ("-1.28", "-128", "-3.2768", "-0.0000000128"), ("9999999.99", "1", "0", "1")
    moments = (
        "X'', date'0001-01-01', timestamp'1969-12-31 23:59:59.999999Z', "
        "timestamp_ntz'1900-01-01 00:00:00'",
        "X'FFFF', date'9999-12-31', timestamp'9999-12-31 23:59:59.999999Z', "
        "timestamp_ntz'9999-12-31 23:59:59.999999'",
    )
    for number, (numbers, rest) in enumerate(zip(decimals, moments, strict=True)):
        values = ", ".join(numbers)
        insert(world, f"({number}, {values}, {rest}), ({number + 10}, {', '.join(['NULL'] * 8)})")

    bench.compare(world)


@pytest.mark.conformance("uuid, fixed, time and nanoseconds", engines=("rewrite", "spark"))
def test_uuid_and_fixed(bench):
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "u", UUIDType()),
        NestedField(3, "f", FixedType(5)),
        NestedField(4, "s", StringType()),
    )
    table = bench.lake.ref("events")
    made = bench.catalog.create_table((bench.lake.namespace, table.name), schema)
    for number in (0, 1 << 127):
        rows = {
            "id": [number >> 120, 7],
            "u": [uuid.UUID(int=number + 9).bytes, None],
            "f": [b"\xff\x00abc", None],
            "s": ["x", None],
        }
        made.append(pa.table(rows, schema=schema.as_arrow()))
    world = World(bench.lake, bench.catalog, bench.folder, table)
    world.done["append by pyiceberg"] += 1

    bench.compare(world)


@pytest.mark.conformance("uuid, fixed, time and nanoseconds", engines=("rewrite",))
def test_a_column_that_spark_does_not_know_harms_nothing(bench):
    """Spark has no time of day as Iceberg has it, and cannot scan the table."""
    schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "t", TimeType()))
    table = bench.lake.ref("events")
    made = bench.catalog.create_table((bench.lake.namespace, table.name), schema)
    for number in range(3):
        rows = {"id": [number], "t": [number * 3_599_999_999]}
        made.append(pa.table(rows, schema=schema.as_arrow()))
    expected = Counter(map(repr, made.refresh().scan().to_arrow().to_pylist()))

    outcome = bench.lake.compact(table)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert Counter(map(repr, made.refresh().scan().to_arrow().to_pylist())) == expected
    assert len(bench.lake.paths(table)) == 1


@pytest.mark.conformance(
    "nested types that evolve inside lists and maps", engines=("rewrite", "spark")
)
@pytest.mark.parametrize("version", [2, 3])
def test_structs_evolve_within_lists_and_maps(bench, version):
    world = bench.table(
        "id BIGINT, many ARRAY<STRUCT<a: INT, b: MAP<STRING, STRUCT<x: FLOAT, y: INT>>>>", version
    )
    deep = "array(named_struct('a', {0}, 'b', map('k', named_struct('x', float('NaN'), 'y', {0}))))"
    insert(world, f"(1, {deep.format(1)}), (2, array()), (3, NULL)")
    for change in (
        "ADD COLUMN many.element.c STRING FIRST",
        "ALTER COLUMN many.element.a TYPE BIGINT",
        "ALTER COLUMN many.element.b.value.x TYPE DOUBLE",
        "DROP COLUMN many.element.b.value.y",
        "ADD COLUMN many.element.b.value.y STRING",
        "RENAME COLUMN many.element.b TO named",
    ):
        world.sql("ALTER TABLE {t} " + change)
    inner = "map('k', named_struct('x', 1.5D, 'y', 'y'))"
    now = f"array(named_struct('c', 'c', 'a', 5L, 'named', {inner}))"
    insert(world, f"(4, {now}), (5, array(NULL))")
    world.sql("DELETE FROM {t} WHERE id = 3")

    bench.compare(world)


@pytest.mark.conformance("required fields of optional structs", engines=("rewrite",))
@pytest.mark.parametrize("version", [1, 2, 3])
def test_required_fields_of_optional_structs(bench, version):
    world = bench.table(
        "id BIGINT NOT NULL, s STRUCT<a: INT NOT NULL, deep: STRUCT<b: STRING NOT NULL>>", version
    )
    deep = "named_struct('a', {0}, 'deep', {1})"
    inner = "named_struct('b', 'x')"
    insert(world, f"(1, {deep.format(1, inner)}), (2, NULL)", f"(3, {deep.format(3, 'NULL')})")

    # Spark cannot hand such rows to Arrow, so that they are compared as it shows them.
    look = bench.lake.lineage if version == 3 else bench.lake.rows
    before = look(world.table)

    lake = replace(bench.lake, engine=RewriteMode.REWRITE)
    assert lake.compact(world.table).engines["rewrite"]

    assert look(world.table) == before
    assert world.loaded().scan().to_arrow().num_rows == 3


@pytest.mark.conformance(
    "renamed, reordered, dropped and added again, widened, defaults", engines=("rewrite", "spark")
)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_everything_evolves_at_once(bench, version):
    world = bench.table(
        "id BIGINT, a INT, b STRING, c FLOAT, d DECIMAL(5, 2), e STRUCT<x: INT, y: STRING>", version
    )
    insert(
        world,
        "(1, 1, 'b', 1.5F, 1.25, named_struct('x', 1, 'y', 'y')), "
        "(2, NULL, NULL, float('NaN'), NULL, NULL)",
    )
    for change in (
        "RENAME COLUMN a TO was_a",
        "DROP COLUMN b",
        "ADD COLUMN b BIGINT FIRST",
        "ADD COLUMN a STRING",
        "ALTER COLUMN c TYPE DOUBLE",
        "ALTER COLUMN d TYPE DECIMAL(20, 2)",
        "ALTER COLUMN was_a TYPE BIGINT",
        "DROP COLUMN e.x",
        "ADD COLUMN e.x STRING FIRST",
        "ALTER COLUMN e FIRST",
    ):
        world.sql("ALTER TABLE {t} " + change)
    if version == 3:
        add_default(world, "was_there", "StringType", "text")
        add_default(world, "since", "LongType", 2**40)
        add_default(world, "z", "DoubleType", -0.0, parent="e")
    world.refresh()
    rows = pa.Table.from_pylist(
        [{"id": 3, "b": 7, "was_a": 2**40, "d": Decimal("123456.78")}],
        schema=pa.schema([f.remove_metadata() for f in world.loaded().schema().as_arrow()]),
    )
    world.frame(rows).writeTo(spark_name(world.table)).append()

    bench.compare(world)


def add_default(world: World, name: str, of: str, value: object, parent: str | None = None) -> None:
    java = world.lake.session._jvm.org.apache.iceberg
    kind = getattr(java.types.Types, of).get()
    literal = java.expressions.Expressions.lit(value).to(kind)
    update = world.lake.java(world.table).updateSchema()
    where = (parent, name, kind, None, literal) if parent else (name, kind, literal)
    update.addColumn(*where).commit()
    world.refresh()


@pytest.mark.conformance(
    "transforms, null partitions, odd characters", engines=("rewrite", "copy", "spark")
)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_partitions_of_every_transform(bench, version):
    world = bench.table(
        "id BIGINT, s STRING, at TIMESTAMP, day DATE, gone INT",
        version,
        by="bucket(2, id), truncate(1, s), hours(at), years(day), gone",
    )
    # What is left of it in format v1 is a field that is always null.
    world.sql("ALTER TABLE {t} DROP PARTITION FIELD gone")
    same = "timestamp'1969-12-31 23:00:00Z', date'1969-12-31', 1"
    for number in range(2):
        insert(
            world,
            f"({number}, '/ %=', {same}), ({number + 2}, NULL, NULL, NULL, NULL), "
            f"({number + 4}, 'é', {same})",
        )

    bench.compare(world)


@pytest.mark.conformance("an upgrade with mixed lineage", engines=("rewrite", "spark"))
@pytest.mark.parametrize("steps", [(1, 2, 3), (2, 3)], ids=["from v1", "from v2"])
def test_rows_from_before_and_after_an_upgrade(bench, steps):
    world = bench.table("id BIGINT, s STRING", steps[0])
    insert(world, "(1, 'a'), (2, 'b')")
    for version in steps[1:]:
        world.sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('format-version' = '{version}')")
        insert(world, f"({version}0, 'c'), ({version}1, 'd')")
    world.sql("DELETE FROM {t} WHERE id = 2")
    world.sql("UPDATE {t} SET s = 'new' WHERE id = 30")

    bench.compare(world)


@pytest.mark.conformance("an upgrade with mixed lineage", engines=("rewrite",))
def test_rows_that_never_got_an_id_get_one_each(bench):
    """Right after an upgrade rows have none; the rewrite is the commit that gives them out."""
    world = bench.table("id BIGINT, s STRING", 2)
    insert(world, "(1, 'a'), (2, 'b')", "(3, 'c')")
    world.sql("ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')")

    bench.compare(world)


@pytest.mark.conformance("several vectors in one Puffin file", engines=("rewrite",))
def test_a_vector_stays_that_shares_its_file_with_one_that_goes(bench):
    world = bench.table("id BIGINT, kind STRING", 3, by="kind")
    bench.lake.fill(world.table, files=2, rows=20)
    world.sql("DELETE FROM {t} WHERE id % 10 IN (2, 3)")
    vectors = bench.lake.facts(world.table).delete_files
    assert len({vector.path for vector in vectors}) < len(vectors)
    before = bench.lake.lineage(world.table)

    outcome = bench.lake.compact(world.table, where="kind = 'k0'")

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert bench.lake.lineage(world.table) == before
    left = bench.lake.facts(world.table)
    assert {v.referenced_path for v in left.delete_files} <= {f.path for f in left.data_files}
    assert left.delete_files


@pytest.mark.conformance("branch, tag and staged write", engines=("rewrite", "spark"))
@pytest.mark.parametrize("version", [2, 3])
def test_refs_and_staged_writes_are_left_alone(bench, version):
    world = bench.table("id BIGINT, s STRING", version)
    insert(world, "(1, 'a'), (2, 'b')", "(3, 'c')")
    world.sql("ALTER TABLE {t} CREATE TAG before")
    world.sql("ALTER TABLE {t} CREATE BRANCH side")
    world.sql("DELETE FROM {t}.branch_side WHERE id = 1")
    side = bench.lake.rows(world.table, at="VERSION AS OF 'side'")
    world.sql("ALTER TABLE {t} SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    bench.lake.session.conf.set("spark.wap.id", "staged")
    try:
        insert(world, "(9, 'staged')")
    finally:
        bench.lake.session.conf.unset("spark.wap.id")

    bench.compare(world)
    bench.lake.compact(world.table)

    assert bench.lake.rows(world.table, at="VERSION AS OF 'side'") == side
    staged = next(
        s.snapshot_id
        for s in world.loaded().metadata.snapshots
        if s.summary and s.summary.additional_properties.get("wap.id") == "staged"
    )
    world.sql(f"CALL lake.system.cherrypick_snapshot('{{t}}', {staged})")
    assert sum(bench.lake.rows(world.table).values()) == 4


@pytest.mark.conformance("a cached table that is stale", engines=("rewrite", "spark"))
@pytest.mark.parametrize("engine", [RewriteMode.REWRITE, RewriteMode.SPARK])
def test_what_others_committed_is_seen_whatever_spark_remembers(bench, engine):
    world = bench.table("id BIGINT, s STRING", 2, properties={})
    insert(world, "(1, 'a'), (2, 'b')", "(3, 'c')")
    bench.lake.rows(world.table)
    made = world.loaded()
    made.append(pa.table({"id": [4, 5], "s": ["d", None]}, schema=made.schema().as_arrow()))
    made.delete("id = 2")

    lake = replace(bench.lake, engine=engine)
    assert lake.compact(world.table).status is Status.SUCCEEDED

    assert sorted(world.loaded().scan().to_arrow()["id"].to_pylist()) == [1, 3, 4, 5]


@pytest.mark.conformance("sort order id and split offsets", engines=("rewrite",))
@pytest.mark.parametrize("version", [2, 3])
def test_a_rewritten_file_says_where_its_row_groups_begin(bench, version):
    small = {**BY_DELETE_FILES, "write.parquet.row-group-size-bytes": "20000"}
    world = bench.table("id BIGINT, s STRING", version, properties=small)
    bench.lake.fill(world.table, "id", "sha2(string(id), 512) s", files=3, rows=3000)

    assert bench.lake.compact(world.table).status is Status.SUCCEEDED

    # Spark shows no offsets where it is not asked for the size of the file as well.
    (file,) = world.loaded().inspect.data_files().to_pylist()
    footer = pq.ParquetFile(local(file["file_path"])).metadata
    first = [footer.row_group(n).column(0) for n in range(footer.num_row_groups)]
    begins = [c.dictionary_page_offset or c.data_page_offset for c in first]
    assert len(begins) > 1
    assert (file["split_offsets"], file["sort_order_id"]) == (sorted(begins), 0)


@pytest.mark.conformance("files without ids under a name mapping", engines=("rewrite", "spark"))
@pytest.mark.parametrize("version", [1, 2, 3])
def test_imported_files_whose_columns_were_renamed_since(bench, version):
    world = bench.table("id BIGINT, s STRING, e STRUCT<x: INT, y: STRING>", version)
    for number in range(2):
        path = bench.folder / f"{number}.parquet"
        rows = [{"id": number, "s": f"s{number}", "e": {"x": number, "y": None}}]
        of = pa.struct([("x", pa.int32()), ("y", pa.string())])
        schema = pa.schema([("id", pa.int64()), ("s", pa.string()), ("e", of)])
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
        source = f"`parquet`.`{path}`"
        world.sql(f"CALL lake.system.add_files(table => '{{t}}', source_table => '{source}')")
    world.done["append by duckdb"] += 1
    for change in (
        "RENAME COLUMN s TO text",
        "RENAME COLUMN e.x TO z",
        "ALTER COLUMN e.z TYPE BIGINT",
    ):
        world.sql("ALTER TABLE {t} " + change)

    bench.compare(world)

"""What a step of a history does to a table. What Iceberg refuses has not happened."""

from __future__ import annotations

import random
from collections.abc import Callable

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from tests.fuzz.evolution import evolve
from tests.fuzz.histories import PARTITIONINGS, Step
from tests.fuzz.world import FIRST_WITH_LINEAGE, World, write_by_duckdb

Action = Callable[[World, random.Random], object]
#: What updates set a column to, by its type.
NEW_VALUES = {
    "string": ("'new'", "NULL", "concat('v', id)"),
    "int": ("-7", "NULL", "cast(id % 3 AS int)"),
    "long": ("NULL", "id * 1000"),
    "float": ("float('NaN')", "float('-0.0')", "cast(id AS float)"),
    "double": ("double('NaN')", "double('-0.0')", "cast(id AS double) / 3"),
    "boolean": ("NULL", "true"),
    "date": ("date'1969-12-31'", "NULL"),
    "timestamp": ("timestamp_ntz'1969-12-31 23:59:59.999999'", "NULL"),
    "timestamptz": ("timestamp'1969-12-31 23:59:59.999999Z'", "NULL"),
    "binary": ("X'FF'", "NULL"),
}
PROPERTIES = (
    ("write.delete.granularity", ("file", "partition")),
    ("write.parquet.compression-codec", ("zstd", "snappy", "gzip", "uncompressed")),
    ("write.parquet.row-group-size-bytes", ("1024", "20000", "134217728")),
    ("write.parquet.page-size-bytes", ("256", "1048576")),
    ("write.parquet.page-row-limit", ("20", "20000")),
    ("write.parquet.dict-size-bytes", ("64", "2097152")),
    ("write.parquet.page-version", ("v2", "v1")),
    ("write.metadata.metrics.default", ("full", "counts", "none", "truncate(3)")),
    ("write.metadata.metrics.column.id", ("full", "none")),
    ("write.object-storage.enabled", ("true",)),
    ("write.parquet.vectorization.enabled", ("false",)),
)
MODES = ("merge-on-read", "merge-on-read", "copy-on-write")


def act(world: World, step: Step) -> None:
    """Let the step happen."""
    try:
        ACTIONS[step.kind](world, random.Random(step.number))
    except (Py4JJavaError, PySparkException):
        world.done[f"{step.kind}, refused"] += 1
        world.refresh()
    else:
        world.done[step.kind] += 1


def append(world: World, choose: random.Random) -> None:
    rows = world.new_rows(choose)
    writers = ["spark"] * 4
    if world.version < FIRST_WITH_LINEAGE:
        # It does not write format v3.
        writers += ["pyiceberg"] * 2
    if all(spec.is_unpartitioned() for spec in world.loaded().specs().values()):
        writers += ["duckdb"] * 2
    writer = choose.choice(writers)
    match writer:
        case "spark":
            frame = world.frame(rows)
            files = choose.choice((1, 2, 3)) if rows.num_rows > 2 else 1
            (frame if files == 1 else frame.repartition(files)).writeTo(str(world.table)).append()
        case "pyiceberg":
            world.loaded().append(rows)
            world.refresh()
        case _:
            _add_files(world, choose, write_by_duckdb(world, choose, rows))
    world.done[f"append by {writer}"] += 1


def _add_files(world: World, choose: random.Random, path: str) -> None:
    if world.version < FIRST_WITH_LINEAGE and choose.random() < 0.5:
        world.loaded().add_files([f"file://{path}"])
        world.refresh()
        return
    world.sql(
        "CALL lake.system.add_files(table => '{t}', source_table => '`parquet`.`" + path + "`')"
    )


def _rows(world: World, choose: random.Random) -> str:
    """A condition that some rows meet."""
    last = max(1, world.next_id)
    some = choose.randrange(last)
    return choose.choice(
        (
            f"id % {choose.choice((2, 3, 7))} = {choose.randrange(2)}",
            f"id BETWEEN {some} AND {some + choose.choice((0, 3, 30))}",
            f"id IN ({some}, {choose.randrange(last)}, {choose.randrange(last)})",
            f"id < {some}",
            f"id >= {some}",
        )
    )


def _mode(world: World, choose: random.Random) -> None:
    """Rows are deleted by delete files or by writing files anew, as is drawn each time."""
    if world.version == 1:
        return
    mode = choose.choice(MODES)
    properties = ", ".join(
        f"'write.{operation}.mode' = '{mode}'" for operation in ("delete", "update", "merge")
    )
    world.sql("ALTER TABLE {t} SET TBLPROPERTIES (" + properties + ")")


def delete(world: World, choose: random.Random) -> None:
    _mode(world, choose)
    world.sql("DELETE FROM {t} WHERE " + _rows(world, choose))


def _assignment(world: World, choose: random.Random) -> str:
    known = [
        (field.name, NEW_VALUES[str(field.field_type)])
        for field in world.loaded().schema().fields
        if field.name != "id" and str(field.field_type) in NEW_VALUES
    ]
    if not known:
        return "id = id + 0"
    name, values = choose.choice(known)
    return f"`{name}` = {choose.choice(values)}"


def update(world: World, choose: random.Random) -> None:
    _mode(world, choose)
    world.sql(f"UPDATE {{t}} SET {_assignment(world, choose)} WHERE {_rows(world, choose)}")


def merge(world: World, choose: random.Random) -> None:
    _mode(world, choose)
    first = choose.randrange(max(1, world.next_id))
    source = f"(SELECT id, id % 3 AS part FROM range({first}, {first + 25}))"
    assignment = _assignment(world, choose).replace(" id", " t.id").replace("(id", "(t.id")
    world.sql(
        f"MERGE INTO {{t}} t USING {source} s ON t.id = s.id "
        f"WHEN MATCHED AND s.part = 0 THEN DELETE WHEN MATCHED AND s.part = 1 "
        f"THEN UPDATE SET t.{assignment}"
    )


def overwrite(world: World, choose: random.Random) -> None:
    world.frame(world.new_rows(choose)).writeTo(str(world.table)).overwritePartitions()


def delete_by_value(world: World, choose: random.Random) -> None:
    """An equality delete, as stream writers commit them: global, by ids that may be gone."""
    if world.version == 1 or not world.loaded().spec().is_unpartitioned():
        return
    ids = [choose.randrange(world.next_id + 5) for _ in range(choose.choice((1, 4, 20)))]
    world.lake.delete_equal(world.table, "id", *ids)
    world.refresh()


def evolve_spec(world: World, choose: random.Random) -> None:
    fields = world.loaded().spec().fields
    if fields and choose.random() < 0.5:
        world.sql("ALTER TABLE {t} DROP PARTITION FIELD `" + choose.choice(fields).name + "`")
        return
    by = choose.choice([by for by in PARTITIONINGS if by])
    world.sql("ALTER TABLE {t} ADD PARTITION FIELD " + by)


def upgrade(world: World, choose: random.Random) -> None:
    if world.version < FIRST_WITH_LINEAGE:
        version = world.version + 1
        world.sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('format-version' = '{version}')")


def set_property(world: World, choose: random.Random) -> None:
    name, values = choose.choice(PROPERTIES)
    world.sql(f"ALTER TABLE {{t}} SET TBLPROPERTIES ('{name}' = '{choose.choice(values)}')")


def rewrite(world: World, choose: random.Random) -> None:
    """Somebody compacts the table: Iceberg, or Neve, which must read its own files as well."""
    if choose.random() < 0.5:
        world.lake.compact(world.table)
        return
    options = choose.choice(("'rewrite-all', 'true'", "'min-input-files', '2'"))
    world.sql(
        "CALL lake.system.rewrite_data_files(table => '{t}', options => map(" + options + "))"
    )


def tidy(world: World, choose: random.Random) -> None:
    procedure = choose.choice(
        (
            "rewrite_position_delete_files(table => '{t}', options => map('rewrite-all', 'true'))",
            "rewrite_manifests('{t}')",
        )
    )
    world.sql("CALL lake.system." + procedure)


def roll_back(world: World, choose: random.Random) -> None:
    snapshot = world.loaded().current_snapshot()
    if snapshot is None or snapshot.parent_snapshot_id is None:
        return
    world.sql(f"CALL lake.system.rollback_to_snapshot('{{t}}', {snapshot.parent_snapshot_id})")


def set_ref(world: World, choose: random.Random) -> None:
    name = f"ref{next(world.numbers)}"
    if choose.random() < 0.5:
        world.sql("ALTER TABLE {t} CREATE TAG " + name)
        return
    world.sql("ALTER TABLE {t} CREATE BRANCH " + name)
    world.sql(f"DELETE FROM {{t}}.branch_{name} WHERE id % 2 = 0")


ACTIONS: dict[str, Action] = {
    "append": append,
    "delete": delete,
    "update": update,
    "merge": merge,
    "overwrite": overwrite,
    "delete by value": delete_by_value,
    "evolve": evolve,
    "spec": evolve_spec,
    "upgrade": upgrade,
    "property": set_property,
    "rewrite": rewrite,
    "tidy": tidy,
    "roll back": roll_back,
    "ref": set_ref,
}

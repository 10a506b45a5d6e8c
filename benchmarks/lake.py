"""Tables for the compaction benchmarks: equal twins, one for each contender."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)

TWINS = ("neve", "iceberg")
#: As tables have it that Iceberg made since 1.4; without it, Iceberg's writers take gzip.
PROPERTIES = {"write.parquet.compression-codec": "zstd"}


class BenchLake:
    """A local warehouse whose tables share files by hard links: equal bytes, equal page cache."""

    def __init__(self, folder: Path, rewrite: Callable[[Path, str], None] | None = None) -> None:
        self.folder = folder
        #: Writes the rows of a file into a table, as the engine writes them.
        self.rewrite = rewrite
        #: Random bits of each value.
        self.entropy_bits = 40
        folder.mkdir(parents=True, exist_ok=True)
        self.properties = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": (folder / "warehouse").as_uri(),
        }
        self.catalog = SqlCatalog("lake", **self.properties)
        self.catalog.create_namespace_if_not_exists("bench")

    def make_twins(
        self,
        name: str,
        *,
        files: int,
        megabytes: float,
        columns: int = 12,
        distinct: int = 4,
        partitions: int = 0,
        by_spark: bool = True,
        entropy_bits: int = 40,
        nested: bool = False,
        twins: Sequence[str] = TWINS,
    ) -> int:
        """Tables `<name>_neve` and `<name>_iceberg`; returns the bytes of each."""
        schema = _schema(columns, nested)
        self.entropy_bits = entropy_bits
        is_rewritten = self.rewrite is not None and by_spark and not partitions
        if is_rewritten:
            # The engine compresses otherwise, so a first file tells by how much.
            trial = self._write(name, schema, 0, megabytes, "p000")
            written = self._by_engine(f"{name}_trial", schema, trial)
            megabytes *= os.path.getsize(trial) / os.path.getsize(written)
        sources = [
            self._write(name, schema, number, megabytes, f"p{number:03d}")
            for number in range(partitions or distinct)
        ]
        if is_rewritten:
            sources = [self._by_engine(f"{name}_{n}", schema, p) for n, p in enumerate(sources)]
        spec = PartitionSpec()
        if partitions:
            spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "k"))
        for twin in twins:
            table = self.catalog.create_table(
                f"bench.{name}_{twin}", schema, partition_spec=spec, properties=PROPERTIES
            )
            folder = Path(table.location().removeprefix("file://")) / "data"
            folder.mkdir(parents=True)
            paths = []
            for number in range(files):
                path = folder / f"{number:06d}.parquet"
                os.link(sources[number % len(sources)], path)
                paths.append(path.as_uri())
            table.add_files(paths, check_duplicate_files=False)
        return sum(os.path.getsize(sources[n % len(sources)]) for n in range(files))

    def _by_engine(self, name: str, schema: Schema, source: Path) -> Path:
        """The same rows, encoded by the engine that tables are mostly written by."""
        table = self.catalog.create_table(f"bench.source_{name}", schema, properties=PROPERTIES)
        assert self.rewrite is not None
        self.rewrite(source, f"lake.bench.source_{name}")
        (task,) = table.refresh().scan().plan_files()
        return Path(task.file.file_path.removeprefix("file://").removeprefix("file:"))

    def _write(self, name: str, schema: Schema, seed: int, megabytes: float, key: str) -> Path:
        """A zstd file of about that size, one row group, random enough not to vanish."""
        path = self.folder / f"{name}-{seed}.parquet"
        arrow_schema = schema_to_pyarrow(schema)
        rows = 10_000
        # The first file tells how many rows make the size that is wanted.
        for _ in range(2):
            table = _rows(schema, rows, seed, key, self.entropy_bits).cast(arrow_schema)
            pq.write_table(table, path, compression="zstd", row_group_size=10**9)
            rows = max(1, int(rows * megabytes * 2**20 / os.path.getsize(path)))
        return path


def _schema(columns: int, nested: bool = False) -> Schema:
    """A key, then columns as event tables have them: ids, amounts, moments, names, flags."""
    kinds = (LongType(), DoubleType(), StringType(), TimestampType(), IntegerType(), StringType())
    ids = itertools.count(columns + 1)
    fields = [NestedField(1, "k", StringType(), required=False)]
    for number in range(2, columns + 1):
        # Whoever makes the table numbers what is inside after all that is outside.
        is_nested = nested and number % 5 == 0
        kind = _nested(number // 5, ids) if is_nested else kinds[(number - 2) % len(kinds)]
        fields.append(NestedField(number, f"c{number}", kind, required=False))
    return Schema(*fields)


def _nested(number: int, ids: Iterator[int]) -> IcebergType:
    """A struct, a list or a map in turn."""
    match number % 3:
        case 0:
            first, second = next(ids), next(ids)
            return StructType(
                NestedField(first, "n", LongType(), required=False),
                NestedField(second, "name", StringType(), required=False),
            )
        case 1:
            return ListType(next(ids), LongType(), element_required=False)
        case _:
            return MapType(next(ids), StringType(), next(ids), LongType(), value_required=False)


def _rows(schema: Schema, rows: int, seed: int, key: str, bits: int) -> pa.Table:
    source = random.Random(seed)
    columns = {"k": pa.array([key] * rows)}
    for field in schema.fields[1:]:
        raw = pa.py_buffer(source.randbytes(8 * rows))
        drawn = pc.bit_wise_and(pa.Array.from_buffers(pa.int64(), rows, [None, raw]), 2**bits - 1)
        columns[field.name] = _column(field, drawn)
    return pa.table(columns)


def _column(field: NestedField, drawn: pa.Array) -> pa.Array:
    """Values of the column's type out of 40 random bits each."""
    of = field.field_type
    if isinstance(of, StructType | ListType | MapType):
        return _nested_column(of, drawn)
    if isinstance(of, DoubleType):
        return pc.divide(pc.bit_wise_and(drawn, 2**20 - 1).cast(pa.float64()), 100.0)
    if isinstance(of, StringType):
        # Every second name column has few values, the other nearly as many as rows.
        bits = 10 if field.field_id % 12 < 6 else 24
        names = pc.bit_wise_and(drawn, 2**bits - 1).cast(pa.string())
        return pc.binary_join_element_wise("name", names, "-")
    if isinstance(of, TimestampType):
        second = pc.bit_wise_and(drawn, 2**17 - 1)
        return pc.multiply(pc.add(second, 1_700_000_000), 1_000_000).cast(pa.timestamp("us"))
    if isinstance(of, IntegerType):
        return pc.bit_wise_and(drawn, 2**16 - 1).cast(pa.int32())
    return drawn


def _nested_column(of: IcebergType, drawn: pa.Array) -> pa.Array:
    """Two entries in every second list or map, none in the others."""
    names = pc.bit_wise_and(drawn, 2**10 - 1).cast(pa.string())
    if isinstance(of, StructType):
        return pa.StructArray.from_arrays([drawn, names], ["n", "name"])
    rows = len(drawn)
    offsets = pa.array([min(rows, (number + 1) // 2 * 2) for number in range(rows + 1)], pa.int32())
    if isinstance(of, ListType):
        return pa.ListArray.from_arrays(offsets, drawn)
    return pa.MapArray.from_arrays(offsets, names, drawn)

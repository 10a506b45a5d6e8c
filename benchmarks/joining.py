"""What joining pages costs beside decoding and encoding them, by file size, writer and entropy.

    python benchmarks/joining.py [--megabytes 60] [--no-spark] [--json]

The same files are made one by assembly, with pages joined, and by Arrow, which decodes and encodes
them as large row groups. `min_page_bytes` comes from the sizes at which joining stops paying.
"""

from __future__ import annotations

import argparse
import io
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neve.parquet.assembly.decide import plan_assembly
from neve.parquet.assembly.files import assemble_local
from neve.parquet.assembly.plan import AssemblyLimits, Kind
from neve.parquet.assembly.source import load_assembly_source
from neve.parquet.assembly.wanted import wanted_schema
from neve.parquet.readers import LocalReader
from report import add_options, tell

#: Rows that make files of about 85 KB, 660 KB, 1 MB and 5 MB, by entropy.
SIZES = {
    "high": {"85 KB": 1_700, "660 KB": 14_000, "1 MB": 22_000, "5 MB": 110_000},
    "low": {"85 KB": 6_000, "660 KB": 50_000, "1 MB": 80_000, "5 MB": 400_000},
}
#: Pages of a chunk from tiny to large, to see where joining stops paying.
PAGE_ROWS = (50, 100, 200, 400, 1_000, 4_000)


def make_table(rows: int, first: int, entropy: str) -> pa.Table:
    """Ids and times that grow, measures, texts, and columns of few values."""
    chance = random.Random(first)
    numbers = range(first, first + rows)
    wide = 1 << 48 if entropy == "high" else 1 << 10
    columns = {
        "id": pa.array(numbers, pa.int64()),
        "at": pa.array(
            [1_700_000_000_000_000 + 1_000_000 * n + chance.randrange(wide) for n in numbers],
            pa.timestamp("us", tz="UTC"),
        ),
        "amount": pa.array([chance.randrange(wide) / 100 for _ in numbers]),
        "total": pa.array([chance.randrange(wide) for _ in numbers], pa.int64()),
        "text": [f"{chance.randrange(wide):x}-{n}" for n in numbers],
        "country": [f"c{chance.randrange(40)}" for _ in numbers],
        "status": [("new", "paid", "sent")[chance.randrange(3)] for _ in numbers],
        "day": pa.array([19_000 + n // 100_000 for n in numbers], pa.date32()),
    }
    table = pa.table(columns)
    fields = [
        field.with_metadata({b"PARQUET:field_id": str(number + 1).encode()})
        for number, field in enumerate(table.schema)
    ]
    return table.cast(pa.schema(fields))


def by_pyarrow(folder: Path, tables: list[pa.Table], **options: Any) -> None:
    for number, table in enumerate(tables):
        path = folder / f"{number:05}.parquet"
        pq.write_table(table, path, compression="zstd", store_schema=False, **options)


def by_spark(folder: Path, tables: list[pa.Table]) -> None:
    """parquet-java, with the settings of Iceberg's writer."""
    from neve.spark.session import build_session
    from neve.settings import SparkSettings

    session = by_spark.__dict__.setdefault("session", _session(build_session, SparkSettings))
    staged = folder.with_name(f"{folder.name}-arrow")
    staged.mkdir()
    by_pyarrow(staged, tables)
    session.conf.set("spark.sql.parquet.fieldId.write.enabled", "true")
    session.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    schema = session.read.parquet(str(staged / "00000.parquet")).schema
    for number, field in enumerate(schema.fields):
        field.metadata = {"parquet.field.id": number + 1}
    for number in range(len(tables)):
        source = session.read.schema(schema).parquet(str(staged / f"{number:05}.parquet"))
        target = folder / f"one-{number}"
        source.coalesce(1).write.option("compression", "zstd").parquet(str(target))
        next(target.glob("part-*.parquet")).rename(folder / f"{number:05}.parquet")
        shutil.rmtree(target)
    shutil.rmtree(staged)

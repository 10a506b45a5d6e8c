"""Files of many kinds of pages, and one that is assembled of them, for readers to agree on."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.fuzz.values import rows_of

from neve.parquet.assembly.decide import plan_assembly
from neve.parquet.assembly.files import assemble_local
from neve.parquet.assembly.plan import AssemblyLimits, AssemblyPlan
from neve.parquet.assembly.source import load_assembly_source
from neve.parquet.assembly.wanted import wanted_schema
from neve.storage.readers import LocalReader

#: How sources are written. Pages are small, so that joined chunks have many.
WRITERS: dict[str, dict[str, Any]] = {
    "plain": {"use_dictionary": False},
    "dictionaries": {"use_dictionary": True},
    "data pages of version 2": {"use_dictionary": False, "data_page_version": "2.0"},
    "several row groups": {"use_dictionary": False, "row_group_size": 120},
}
#: Whether pages are joined, row groups copied, or everything encoded again.
LIMITS = {
    "joined": AssemblyLimits(min_page_bytes=1),
    "copied": AssemblyLimits(min_page_bytes=1, keep_row_group_bytes=1),
    "encoded": AssemblyLimits(only_codec="snappy"),
}


def write_sources(
    folder: Path, schema: pa.Schema, writer: str, *, files: int = 3, rows: int = 400
) -> list[Path]:
    paths = []
    for number in range(files):
        drawn = rows_of(random.Random(f"{writer} {number}"), schema, number * rows, rows)
        path = folder / f"{writer.replace(' ', '-')}-{number}.parquet"
        pq.write_table(
            drawn,
            path,
            compression="zstd",
            store_schema=False,
            store_decimal_as_integer=True,
            write_page_index=True,
            **{"data_page_size": 500, "write_batch_size": 50, **WRITERS[writer]},
        )
        paths.append(path)
    return paths


def assemble(paths: Sequence[Path], schema: pa.Schema, limits: str, target: Path) -> AssemblyPlan:
    sources = []
    for path in paths:
        with LocalReader(path) as reader:
            sources.append(load_assembly_source(reader))
    plan = plan_assembly(sources, wanted_schema(schema), LIMITS[limits])
    assemble_local(plan, target)
    return plan

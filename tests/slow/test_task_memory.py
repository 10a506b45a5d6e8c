"""How much memory a task takes whose values are several times that, in a process of its own."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.facts import DeleteKind
from neve.model.policy import Engine
from neve.model.rewrite import (
    DeleteDetails,
    RewriteTask,
    SpliceRequirements,
    TableLayout,
    TaskInput,
)
from neve.spark.rewrite.task import run_task
from neve.storage.access import storage_of

FILES, ROWS, COLUMNS = 40, 200_000, 10
VALUE_BYTES = FILES * ROWS * COLUMNS * 8
DELETE_FILES, KEYS = 250, 2_000
MIB = 1024 * 1024


def field(number):
    return pa.field(f"c{number}", pa.int64(), metadata={"PARQUET:field_id": str(number)})


def sources(folder: Path) -> tuple[TaskInput, ...]:
    """Files that compress well, all of one content; the first column counts rows."""
    drawn = np.random.default_rng(1).integers(0, 4096, (COLUMNS - 1, ROWS))
    table = pa.table(
        [np.arange(ROWS), *drawn], schema=pa.schema([field(1 + n) for n in range(COLUMNS)])
    )
    pq.write_table(table, folder / "first.parquet", compression="zstd")
    paths = [folder / f"{number}.parquet" for number in range(FILES)]
    for path in paths:
        os.link(folder / "first.parquet", path)
    size = (folder / "first.parquet").stat().st_size
    return tuple(TaskInput(path.as_uri(), size, ROWS, 1) for path in paths)


def equality_deletes(folder: Path) -> tuple[DeleteDetails, ...]:
    """Half a million keys, of which 2,000 are of rows that there are."""
    deletes = []
    for number in range(DELETE_FILES):
        path = folder / f"delete-{number}.parquet"
        keys = np.arange(number * ROWS, number * ROWS + KEYS)
        pq.write_table(pa.table([keys], schema=pa.schema([field(1)])), path)
        size = path.stat().st_size
        deletes.append(
            DeleteDetails(path.as_uri(), DeleteKind.EQUALITY, "parquet", size, KEYS, 2, None, (1,))
        )
    return tuple(deletes)


def rewrite(folder: Path, with_deletes: bool) -> tuple[int, str | None, int]:
    """Rows of the new file, why there is none, and the most memory that the process ever took."""
    deletes = equality_deletes(folder) if with_deletes else ()
    columns = [
        {"id": 1 + n, "name": f"c{1 + n}", "required": False, "type": "long"}
        for n in range(COLUMNS)
    ]
    schema = json.dumps({"type": "struct", "schema-id": 0, "fields": columns})
    codec = {"write.parquet.compression-codec": "zstd"}
    layout = TableLayout(2, schema, json.dumps({"order-id": 0, "fields": []}), codec)
    names = (((folder / "new.parquet").as_uri(),),)
    task = RewriteTask(0, sources(folder), deletes, names, (Engine.REWRITE,))
    result = run_task(
        task, SpliceRequirements((), "zstd", False, 4 * MIB, layout), storage_of({}), 0
    )
    rows = sum(file.rows_out for file in result.files)
    return rows, result.refused, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize(
    ("with_deletes", "rows", "limit"),
    [(False, FILES * ROWS, 512 * MIB), (True, FILES * (ROWS - KEYS), 1024 * MIB)],
    ids=["rows", "equality deletes"],
)
def test_a_task_takes_less_memory_than_its_values(tmp_path, with_deletes, rows, limit):
    assert limit < VALUE_BYTES or with_deletes
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        written, refused, taken_bytes = process.submit(rewrite, tmp_path, with_deletes).result()

    assert refused is None
    assert written == rows
    assert taken_bytes <= limit

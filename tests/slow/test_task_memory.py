"""How much memory a task takes in a process of its own: of many values, and of many chunks."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
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
WIDE_FILES, WIDE_ROWS, WIDE_COLUMNS = 400, 100, 300
MIB = 1024 * 1024


def field(number):
    return pa.field(f"c{number}", pa.int64(), metadata={"PARQUET:field_id": str(number)})


def sources(folder: Path, files: int, rows: int, columns: int) -> tuple[TaskInput, ...]:
    """Files that compress well, all of one content; the first column counts rows."""
    drawn = np.random.default_rng(1).integers(0, 4096, (columns - 1, rows))
    table = pa.table(
        [np.arange(rows), *drawn], schema=pa.schema([field(1 + n) for n in range(columns)])
    )
    pq.write_table(table, folder / "first.parquet", compression="zstd")
    paths = [folder / f"{number}.parquet" for number in range(files)]
    for path in paths:
        os.link(folder / "first.parquet", path)
    size = (folder / "first.parquet").stat().st_size
    return tuple(TaskInput(path.as_uri(), size, rows, 1) for path in paths)


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


def most_memory_bytes() -> int:
    """Of this program: what getrusage tells holds what its parent took before, too."""
    (line,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(line) * 1024


def rewrite(
    folder: Path, files: int, rows: int, columns: int, with_deletes: bool
) -> tuple[int, str | None, int]:
    """Rows of the new file, why there is none, and the most memory that the process ever took."""
    deletes = equality_deletes(folder) if with_deletes else ()
    fields = [
        {"id": 1 + n, "name": f"c{1 + n}", "required": False, "type": "long"}
        for n in range(columns)
    ]
    schema = json.dumps({"type": "struct", "schema-id": 0, "fields": fields})
    codec = {"write.parquet.compression-codec": "zstd"}
    layout = TableLayout(2, schema, json.dumps({"order-id": 0, "fields": []}), codec)
    names = (((folder / "new.parquet").as_uri(),),)
    inputs = sources(folder, files, rows, columns)
    task = RewriteTask(0, inputs, deletes, names, (Engine.REWRITE,))
    result = run_task(
        task, SpliceRequirements((), "zstd", False, 4 * MIB, layout), storage_of({}), 0
    )
    written = sum(file.rows_out for file in result.files)
    return written, result.refused, most_memory_bytes()


def rewrite_apart(
    folder: Path, files: int, rows: int, columns: int, with_deletes: bool = False
) -> tuple[int, str | None, int]:
    """The same in a process that has done nothing before."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(rewrite, folder, files, rows, columns, with_deletes).result()


@pytest.mark.parametrize(
    ("with_deletes", "rows", "limit"),
    [(False, FILES * ROWS, 512 * MIB), (True, FILES * (ROWS - KEYS), 1024 * MIB)],
    ids=["rows", "equality deletes"],
)
def test_a_task_takes_less_memory_than_its_values(tmp_path, with_deletes, rows, limit):
    assert limit < VALUE_BYTES or with_deletes
    written, refused, taken_bytes = rewrite_apart(tmp_path, FILES, ROWS, COLUMNS, with_deletes)

    assert refused is None
    assert written == rows
    assert taken_bytes <= limit


def test_many_files_of_hundreds_of_columns_take_no_more_memory(tmp_path):
    """What is known of so many chunks takes more of it than their few values."""
    written, refused, taken_bytes = rewrite_apart(tmp_path, WIDE_FILES, WIDE_ROWS, WIDE_COLUMNS)

    assert refused is None
    assert written == WIDE_FILES * WIDE_ROWS
    assert taken_bytes <= 512 * MIB

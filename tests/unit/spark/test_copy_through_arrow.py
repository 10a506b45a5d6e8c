"""The engine `copy` in a store that Arrow reaches: the same code on a file system of Arrow's."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from neve.model.errors import ParquetError, ParquetUnsupported
from neve.model.policy import Engine, Verify
from neve.model.rewrite import (
    BytesCompared,
    FooterRead,
    LeafColumn,
    RewriteTask,
    SpliceRequirements,
    TaskInput,
    TaskResult,
)
from neve.spark.rewrite.task import run_task
from neve.storage import arrow
from neve.storage.access import Storage

NAMES = ("gs://box/new-0", "gs://box/new-1", "gs://box/new-2", "gs://box/new-3")


class Store(SubTreeFileSystem):
    """Arrow's own local file system, as the contents of a store."""


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "box"
    root.mkdir()
    store = Store(str(tmp_path), LocalFileSystem())
    monkeypatch.setattr(arrow, "file_system", lambda scheme, authority, settings: store)
    return root


def put(box: Path, number: int) -> TaskInput:
    column = pa.field("a", pa.int64(), metadata={"PARQUET:field_id": "1"})
    table = pa.table([pa.array(range(number, number + 1000))], schema=pa.schema([column]))
    pq.write_table(table, box / f"{number}", use_dictionary=False, compression="none")
    return TaskInput(f"gs://box/{number}", (box / f"{number}").stat().st_size, 1000)


def run(
    *inputs: TaskInput,
    ladder: tuple[Engine, ...] = (Engine.COPY, Engine.REWRITE),
    verify: Verify = Verify.FULL,
) -> TaskResult:
    wanted = SpliceRequirements((LeafColumn(1, "long"),), None, False, 0, verify=verify)
    return run_task(RewriteTask(7, inputs, (), (NAMES,), ladder), wanted, Storage(), 0)


def test_row_groups_are_copied_and_read_back(box: Path) -> None:
    result = run(put(box, 0), put(box, 5000))

    (file,) = result.files
    assert (file.path, file.rows_out, file.engine) == ("gs://box/new-0", 2000, Engine.COPY)
    assert isinstance(file.proof, BytesCompared)
    assert file.proof.problem is None
    assert file.proof.compared_bytes > 2 * 8000
    values = pq.read_table(box / "new-0")["a"].to_pylist()
    assert values == [*range(1000), *range(5000, 6000)]
    assert [each.path for each in file.ranges] == ["gs://box/0", "gs://box/5000"]


def test_nothing_is_read_back_where_nobody_asks_for_it(box: Path) -> None:
    (file,) = run(put(box, 0), put(box, 5000), verify=Verify.METADATA).files

    assert isinstance(file.proof, FooterRead)


def test_a_name_that_is_taken_is_not_replaced(box: Path) -> None:
    (box / "new-0").write_bytes(b"somebody else's")

    with pytest.raises(ParquetError, match="exists already"):
        run(put(box, 0), put(box, 5000))

    assert (box / "new-0").read_bytes() == b"somebody else's"


def test_a_source_that_arrow_cannot_open_is_left_to_iceberg(box: Path) -> None:
    missing = TaskInput("gs://box/missing", 10, 10)

    result = run(put(box, 0), missing, ladder=(Engine.COPY,))

    assert result.files == ()
    assert "Arrow's client does not get through" in str(result.refused)
    assert sorted(path.name for path in box.iterdir()) == ["0"]


def test_a_source_of_another_size_is_no_source(box: Path) -> None:
    with pytest.raises(ParquetError, match="its manifest says"):
        run(put(box, 0), TaskInput("gs://box/0", 5, 1000))


def test_a_client_that_is_not_there_leaves_the_group_to_iceberg(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise ParquetUnsupported("Arrow has no client for gs: here.")

    monkeypatch.setattr(arrow, "file_system", none)

    assert "no client" in str(run(put(box, 0), put(box, 1), ladder=(Engine.COPY,)).refused)


def test_bytes_that_the_store_changed_are_found_and_the_file_goes(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = arrow.StoreReader.read_at

    def flipped(self: arrow.StoreReader, offset: int, length: int) -> bytes:
        data = opened(self, offset, length)
        if self.path.endswith("new-0") and offset > 0 and length > 1000:
            return bytes([data[0] ^ 1]) + data[1:]
        return data

    monkeypatch.setattr(arrow.StoreReader, "read_at", flipped)

    result = run(put(box, 0), put(box, 5000), ladder=(Engine.COPY,))

    assert "other bytes" in str(result.refused)
    assert not (box / "new-0").exists()

"""Carrying out a plan through a file system: bounded memory, no half file left behind."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from neve.model.errors import ParquetError
from neve.parquet import copy_store
from neve.parquet.copy_local import splice_local
from neve.parquet.copy_store import splice_to_store
from neve.parquet.indexes import load_source
from neve.parquet.plan import SplicePlan
from neve.parquet.splice import plan_splice
from neve.storage.readers import StoreReader

TABLE = pa.table({"a": list(range(20_000))})


@pytest.fixture
def store(tmp_path: Path) -> fs.FileSystem:
    return fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())


@pytest.fixture
def plan(store: fs.FileSystem) -> SplicePlan:
    sources = []
    for number in range(3):
        pq.write_table(TABLE, f"source-{number}", filesystem=store, write_page_index=True)
        with StoreReader(store, f"source-{number}") as reader:
            sources.append(load_source(reader))
    return plan_splice(sources)


def test_both_ways_write_the_same_file(tmp_path, store, plan, monkeypatch) -> None:
    monkeypatch.setattr(copy_store, "_PIECE_BYTES", 10_000)
    result = splice_to_store(plan, store, "new", verify="checksum")
    monkeypatch.chdir(tmp_path)
    splice_local(plan, "local", verify="bytes")

    assert (tmp_path / "new").read_bytes() == (tmp_path / "local").read_bytes()
    assert (result.path, result.rows, result.checksum is None) == ("new", 60_000, False)
    assert splice_to_store(plan, store, "again").checksum is None


def test_reading_ahead_is_bounded(store, plan, monkeypatch) -> None:
    monkeypatch.setattr(copy_store, "_PIECE_BYTES", 1_000)
    taken, fetched, lead = 0, 0, []
    lock = threading.Lock()

    class Counting(StoreReader):
        def read_at(self, offset: int, length: int) -> bytes:
            nonlocal fetched
            with lock:
                fetched += length
                lead.append(fetched - taken)
            return super().read_at(offset, length)

    monkeypatch.setattr(copy_store, "StoreReader", Counting)
    with copy_store.OpenSources(plan, lambda path: Counting(store, path)) as sources:
        for piece, is_copied in copy_store._pieces(plan, sources):
            taken += len(piece) if is_copied else 0

    assert taken == plan.copied_bytes
    assert max(lead) <= 6 * 1_000


def test_an_existing_file_is_refused(tmp_path, store, plan) -> None:
    (tmp_path / "new").write_bytes(b"precious")

    with pytest.raises(ParquetError, match="exists already"):
        splice_to_store(plan, store, "new")
    assert (tmp_path / "new").read_bytes() == b"precious"


def test_a_failed_attempt_is_deleted(tmp_path, store, plan) -> None:
    (tmp_path / "source-2").unlink()

    with pytest.raises(ParquetError, match="source-2 cannot be read"):
        splice_to_store(plan, store, "new")
    assert not (tmp_path / "new").exists()


def test_a_broken_connection_leaves_nothing(tmp_path, store, plan, monkeypatch) -> None:
    def break_off(*_args: object) -> int:
        raise OSError("connection reset")

    monkeypatch.setattr(copy_store.zlib, "crc32", break_off)
    with pytest.raises(ParquetError, match="cannot be written: connection reset"):
        splice_to_store(plan, store, "new")
    assert not (tmp_path / "new").exists()


def test_an_unwritable_place_is_named(store, plan) -> None:
    with pytest.raises(ParquetError, match="cannot be written"):
        splice_to_store(plan, store, "no/such/folder/new")


def test_sources_may_lie_elsewhere(tmp_path_factory, store, plan) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    target = fs.SubTreeFileSystem(str(elsewhere), fs.LocalFileSystem())
    splice_to_store(plan, target, "new", source_file_system=store)

    assert pq.read_metadata(elsewhere / "new").num_rows == 60_000

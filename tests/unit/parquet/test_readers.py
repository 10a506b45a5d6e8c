"""Readers: exactly the bytes asked for, from memory, disk or a store, or a typed error."""

from __future__ import annotations

import pytest
from pyarrow import fs

from neve.model.errors import ParquetCorrupt, ParquetError
from neve.storage.readers import LocalReader, MemoryReader, StoreReader


@pytest.fixture(params=["memory", "local", "store"])
def reader(request, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    match request.param:
        case "memory":
            yield MemoryReader(b"0123456789", str(path))
        case "local":
            with LocalReader(path) as opened:
                yield opened
        case _:
            with StoreReader(fs.LocalFileSystem(), str(path)) as opened:
                yield opened


def test_ranges_are_read(reader, tmp_path) -> None:
    assert (reader.path, reader.size_bytes) == (str(tmp_path / "file"), 10)
    assert (reader.read_at(2, 3), reader.read_at(9, 1), reader.read_at(4, 0)) == (b"234", b"9", b"")


@pytest.mark.parametrize(("offset", "length"), [(8, 3), (10, 1), (50, 5)])
def test_missing_bytes_are_corrupt(reader, offset: int, length: int) -> None:
    with pytest.raises(ParquetCorrupt, match=f"bytes expected at offset {offset}"):
        reader.read_at(offset, length)


def test_missing_files_are_named(tmp_path) -> None:
    with pytest.raises(ParquetError, match="gone cannot be read"):
        LocalReader(tmp_path / "gone")
    with pytest.raises(ParquetError, match="gone cannot be read"):
        StoreReader(fs.LocalFileSystem(), str(tmp_path / "gone"))


def test_a_closed_reader_stays_closed(tmp_path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    reader = LocalReader(tmp_path / "file")
    reader.close()
    reader.close()

    with pytest.raises(ParquetError, match="cannot be read"):
        reader.read_at(0, 1)

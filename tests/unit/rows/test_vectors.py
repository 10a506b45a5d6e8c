from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap

from neve.model.errors import RowsCorrupt
from neve.rows.roaring import MAX_POSITION, read_bitmap, write_bitmap
from neve.rows.vectors import read_vector, write_puffin, write_vector


def of(*values: Any) -> Any:
    return np.array(sorted(values), dtype=np.int64)


SETS = [
    of(),
    of(0),
    of(0, 65_535, 65_536, 2**32 - 1),
    np.arange(100_000, dtype=np.int64),
    np.arange(0, 200_000, 2, dtype=np.int64),
    of(1, 2**32 + 5, 3 * 2**32),
    np.concatenate([np.arange(0, 65_536, 2), np.arange(2**17, 2**17 + 70_000)]).astype(np.int64),
    np.arange(3, 600_000, 90_000, dtype=np.int64),
    np.concatenate([np.arange(at, at + 9) for at in range(0, 600_000, 60_000)]).astype(np.int64),
]


@st.composite
def position_sets(draw: Any) -> Any:
    """Scattered positions, runs and halves of what a container holds."""
    parts = []
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, 2**34) | st.integers(0, 200_000))
        step, count = draw(st.integers(1, 3)), draw(st.integers(1, 20_000))
        parts.append(np.arange(start, start + step * count, step))
    return np.unique(np.concatenate([np.empty(0), *parts]).astype(np.int64))


@pytest.mark.parametrize("positions", SETS)
def test_written_sets_are_read_back(positions: Any):
    assert np.array_equal(read_bitmap(write_bitmap(positions)), positions)


@given(position_sets())
def test_any_set_is_read_back(positions: Any):
    assert np.array_equal(read_vector(write_vector(positions), len(positions)), positions)


@given(position_sets())
def test_pyiceberg_reads_what_is_written(positions: Any):
    near = np.unique(np.append(positions % 2**20, 7))
    data, (written,) = write_puffin({"file:/a": near}, "test")

    (found,) = deletion_vectors_from_puffin_file(PuffinFile(data))

    assert found.referenced_data_file == written.referenced_data_file == "file:/a"
    assert np.array_equal(near, found.to_vector().to_numpy())


@given(position_sets())
def test_bytes_are_those_of_the_roaring_library(positions: Any):
    near = np.unique(positions % 2**20)
    library = BitMap(near.tolist())
    library.run_optimize()
    expected = struct.pack("<qi", 1, 0) + library.serialize()

    assert np.array_equal(read_bitmap(expected), near)
    if len(near):
        assert write_bitmap(near) == expected


def test_a_puffin_file_holds_a_vector_for_each_data_file():
    vectors = {"file:/a": of(1, 5), "file:/ü b": of(7)}

    data, written = write_puffin(vectors, "neve")

    assert [(each.referenced_data_file, each.cardinality) for each in written] == [
        ("file:/a", 2),
        ("file:/ü b", 1),
    ]
    for each in written:
        blob = data[each.offset : each.offset + each.length]
        assert np.array_equal(
            read_vector(blob, each.cardinality), vectors[each.referenced_data_file]
        )
    (length,) = struct.unpack("<i", data[-12:-8])
    footer = json.loads(data[-12 - length : -12])
    assert data[-16 - length : -12 - length] == data[:4] == data[-4:] == b"PFA1"
    assert footer["blobs"][1]["properties"] == {
        "referenced-data-file": "file:/ü b",
        "cardinality": "1",
    }


@pytest.mark.parametrize("positions", [of(3, 3), of(-1), of(MAX_POSITION + 1)])
def test_positions_that_are_none_are_not_written(positions: Any):
    with pytest.raises(RowsCorrupt):
        write_bitmap(positions)


def test_a_wrong_count_is_corrupt():
    with pytest.raises(RowsCorrupt, match="manifest"):
        read_vector(write_vector(of(1, 2)), 3)


@given(st.sampled_from(SETS), st.data())
def test_a_changed_byte_is_found(positions: Any, data: Any):
    blob = bytearray(write_vector(positions))
    blob[data.draw(st.integers(0, len(blob) - 1))] ^= data.draw(st.integers(1, 255))

    with pytest.raises(RowsCorrupt):
        read_vector(bytes(blob), len(positions))


@given(st.sampled_from(SETS[1:]), st.data())
def test_bitmaps_that_are_broken_under_a_right_checksum_are_found_or_are_sets(
    positions: Any, data: Any
):
    body = bytearray(write_vector(positions)[4:-4])
    at = data.draw(st.integers(4, len(body) - 1))
    body[at] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, 3))
    body = body[: len(body) - cut]
    blob = struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))

    try:
        found = read_vector(bytes(blob))
    except RowsCorrupt:
        return
    assert np.all(np.diff(found) > 0)
    assert len(found) == 0 or found[0] >= 0

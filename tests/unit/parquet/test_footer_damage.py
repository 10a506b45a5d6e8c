"""Damaged footers: whatever byte is wrong, the answer is a sound footer or a typed error."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neve.model.errors import ParquetCorrupt, ParquetError
from neve.parquet.indexes import load_source
from neve.parquet.splice import plan_splice
from neve.storage.readers import MemoryReader

TABLE = pa.table(
    {
        "a": [1, 2, 3, 4],
        "l": [[1], [], None, [2, 3]],
        "t": [dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in (1, 2, 3, 4)],
    }
)


@pytest.fixture(scope="module")
def data(write) -> bytes:
    options = {"write_page_index": True, "bloom_filter_options": {"a": True}}
    return write(TABLE, row_group_size=2, **options)


def footer_range(data: bytes) -> range:
    return range(len(data) - 8 - int.from_bytes(data[-8:-4], "little"), len(data))


def sound_or_refused(data: bytes) -> None:
    try:
        source = load_source(MemoryReader(data))
        plan = plan_splice([source, source])
    except ParquetError:
        return
    for group in source.footer.row_groups:
        assert 4 <= group.start <= group.end <= source.footer.footer_start
    assert plan.size_bytes <= 4 * len(data)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_changed_byte_does_no_harm(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.sampled_from(footer_range(data)))
    value = draw.draw(st.integers(0, 255))

    sound_or_refused(data[:at] + bytes([value]) + data[at + 1 :])


@given(st.data())
def test_bytes_put_in_or_taken_out_do_no_harm(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.sampled_from(footer_range(data)))
    end = draw.draw(st.integers(start, min(len(data), start + 20)))

    sound_or_refused(data[:start] + draw.draw(st.binary(max_size=20)) + data[end:])


@given(st.data())
def test_a_truncated_file_is_corrupt(data: bytes, draw: st.DataObject) -> None:
    length = draw.draw(st.integers(0, len(data) - 1))

    with pytest.raises(ParquetCorrupt):
        load_source(MemoryReader(data[:length]))


@given(st.data())
def test_changed_indexes_do_no_harm(data: bytes, draw: st.DataObject) -> None:
    at = draw.draw(st.integers(4, footer_range(data)[0] - 1))

    sound_or_refused(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])

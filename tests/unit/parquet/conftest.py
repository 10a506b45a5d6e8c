"""Files in memory and a splice of them, for the Parquet tests."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.parquet.indexes import Source, load_source
from neve.parquet.plan import CopyRange, SplicePlan
from neve.parquet.splice import plan_splice
from neve.storage.readers import MemoryReader


@pytest.fixture(scope="session")
def write() -> Callable[..., bytes]:
    """Write a table with pyarrow and return the file's bytes."""

    def write_table(table: pa.Table, **options: Any) -> bytes:
        sink = io.BytesIO()
        pq.write_table(table, sink, **options)
        return sink.getvalue()

    return write_table


@pytest.fixture(scope="session")
def read() -> Callable[[bytes], pa.Table]:
    """Read a file's bytes with pyarrow."""
    return lambda data: pq.read_table(io.BytesIO(data))


@pytest.fixture(scope="session")
def metadata() -> Callable[[bytes], pq.FileMetaData]:
    """What pyarrow makes of a file's footer."""
    return lambda data: pq.read_metadata(io.BytesIO(data))


@pytest.fixture(scope="session")
def load() -> Callable[[bytes], Source]:
    """Load the bytes of a file as a source."""
    return lambda data: load_source(MemoryReader(data))


@pytest.fixture(scope="session")
def carry_out() -> Callable[[SplicePlan, list[bytes]], bytes]:
    """Carry out a plan on files in memory."""

    def join(plan: SplicePlan, files: list[bytes]) -> bytes:
        parts = [
            files[part.source][part.offset : part.offset + part.length]
            if isinstance(part, CopyRange)
            else part.data
            for part in plan.parts
        ]
        return b"".join(parts)

    return join


@pytest.fixture(scope="session")
def splice(
    load: Callable[[bytes], Source], carry_out: Callable[[SplicePlan, list[bytes]], bytes]
) -> Callable[..., bytes]:
    """Splice files that are byte strings into one."""

    def splice_bytes(*files: bytes, **options: Any) -> bytes:
        plan = plan_splice([load(data) for data in files], **options)
        spliced = carry_out(plan, list(files))
        assert len(spliced) == plan.size_bytes
        return spliced

    return splice_bytes


@pytest.fixture(scope="session")
def rewrite_footer() -> Callable[[bytes, Callable[[bytes], bytes]], bytes]:
    """Put another footer in place of a file's own."""

    def replace(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
        length = int.from_bytes(data[-8:-4], "little")
        footer = change(data[-8 - length : -8])
        return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"

    return replace

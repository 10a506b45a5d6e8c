"""Assembled files on disk: there whole, or not at all."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.errors import ParquetError
from neve.parquet.assembly.decide import plan_assembly
from neve.parquet.assembly.files import assemble_local
from neve.parquet.assembly.plan import AssemblyLimits, AssemblyPlan, Kind
from neve.parquet.assembly.source import load_assembly_source
from neve.parquet.assembly.wanted import wanted_schema
from neve.storage.readers import LocalReader

from .conftest import number, write_file
from .tables import random_table

SCHEMA = number(pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.string())]))
KEYS = ((b"iceberg.schema", b'{"type": "struct"}'),)
MANY = 70


@cache
def source(index: int) -> bytes:
    return write_file(random_table(SCHEMA, 50, index), use_dictionary=False)


def make(folder: Path, count: int, limits: AssemblyLimits) -> AssemblyPlan:
    sources = []
    for index in range(count):
        path = folder / f"{index:03}.parquet"
        path.write_bytes(source(index))
        with LocalReader(path) as reader:
            sources.append(load_assembly_source(reader))
    return plan_assembly(sources, wanted_schema(SCHEMA), limits)


@pytest.fixture
def plan(tmp_path) -> AssemblyPlan:
    return make(tmp_path, MANY, AssemblyLimits(min_page_bytes=1, target_row_group_bytes=20_000))


def expected(folder: Path) -> list[dict[str, object]]:
    paths = sorted(folder.glob("0*.parquet"))
    return pa.concat_tables([pq.ParquetFile(path).read() for path in paths]).to_pylist()


def test_more_sources_than_are_kept_open_become_one_local_file(tmp_path, plan) -> None:
    target = tmp_path / "new.parquet"

    result = assemble_local(plan, target, key_values=KEYS, sync=True)

    assert len(plan.groups) > 1
    assert pq.ParquetFile(target).read().to_pylist() == expected(tmp_path)
    assert pq.read_metadata(target).metadata == dict(KEYS)
    assert result.size_bytes == target.stat().st_size
    assert list(tmp_path.glob("*.tmp")) == []


def test_large_row_groups_are_copied_from_file_to_file(tmp_path) -> None:
    plan = make(tmp_path, 3, AssemblyLimits(keep_row_group_bytes=1))

    result = assemble_local(plan, tmp_path / "new.parquet")

    assert pq.ParquetFile(tmp_path / "new.parquet").read().to_pylist() == expected(tmp_path)
    assert result.row_groups == 3
    chunks = [chunk for group in plan.groups for part in group.parts for chunk in part.chunks]
    assert result.bytes_by_kind[Kind.COPIED] == sum(chunk.length for chunk in chunks if chunk)


def test_an_existing_file_is_not_replaced(tmp_path, plan) -> None:
    target = tmp_path / "new.parquet"
    target.write_bytes(b"theirs")

    with pytest.raises(ParquetError, match="exists already"):
        assemble_local(plan, target)
    assert target.read_bytes() == b"theirs"


def test_a_source_that_is_gone_leaves_nothing_behind(tmp_path, plan) -> None:
    target = tmp_path / "new.parquet"
    (tmp_path / "069.parquet").unlink()

    with pytest.raises(ParquetError, match=r"069\.parquet"):
        assemble_local(plan, target)
    assert not target.exists()
    assert list(tmp_path.glob("*.tmp")) == []

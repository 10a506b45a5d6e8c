"""Carrying out a plan on this machine: whole and checked, or not there at all."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.errors import ParquetCorrupt, ParquetError
from neve.parquet import copy_local, outcome
from neve.parquet.copy_local import splice_local
from neve.parquet.indexes import load_source
from neve.parquet.plan import SplicePlan
from neve.parquet.splice import plan_splice
from neve.storage.readers import LocalReader

TABLE = pa.table({"a": list(range(5_000)), "b": [f"value {number}" for number in range(5_000)]})


@pytest.fixture
def plan(tmp_path: Path) -> SplicePlan:
    sources = []
    for number in range(3):
        path = tmp_path / f"source-{number}.parquet"
        pq.write_table(TABLE, path, row_group_size=2_000, write_page_index=True)
        with LocalReader(path) as reader:
            sources.append(load_source(reader))
    return plan_splice(sources)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("source-"))


@pytest.mark.parametrize("verify", ["size", "bytes"])
@pytest.mark.parametrize("sync", [False, True])
def test_the_file_is_written_and_reported(tmp_path, plan, verify, sync) -> None:
    target = tmp_path / "new.parquet"
    result = splice_local(plan, target, verify=verify, sync=sync)

    assert pq.read_table(target).equals(pa.concat_tables([TABLE] * 3))
    assert (result.path, result.size_bytes) == (str(target), target.stat().st_size)
    assert (result.rows, result.row_groups) == (15_000, 9)
    assert result.split_offsets == plan.split_offsets
    assert result.copied_bytes == plan.copied_bytes
    assert result.compared_bytes == (plan.copied_bytes if verify == "bytes" else 0)
    assert visible(tmp_path) == ["new.parquet"]


def refuse_with(number: int):
    def refuse(*_args: object) -> int:
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.mark.parametrize(
    "number", [errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, None, 0]
)
def test_the_kernel_need_not_help(tmp_path, plan, monkeypatch, number) -> None:
    kernel = splice_local(plan, tmp_path / "kernel.parquet", verify="bytes")
    if number is None:
        monkeypatch.delattr(os, "copy_file_range")
    else:
        stand_in = refuse_with(number) if number else (lambda *_args: 0)
        monkeypatch.setattr(os, "copy_file_range", stand_in)
    monkeypatch.setattr(copy_local, "_BUFFER_BYTES", 1_000)
    buffered = splice_local(plan, tmp_path / "buffered.parquet", verify="bytes")

    assert buffered.compared_bytes == kernel.compared_bytes == plan.copied_bytes
    assert (tmp_path / "buffered.parquet").read_bytes() == Path(kernel.path).read_bytes()


def test_a_full_disk_leaves_nothing(tmp_path, plan, monkeypatch) -> None:
    monkeypatch.setattr(os, "copy_file_range", refuse_with(errno.ENOSPC))

    with pytest.raises(ParquetError, match="cannot be written: No space left"):
        splice_local(plan, tmp_path / "new.parquet")
    assert visible(tmp_path) == []


@pytest.mark.parametrize("links", [True, False])
def test_an_existing_file_is_never_replaced(tmp_path, plan, monkeypatch, links: bool) -> None:
    target = tmp_path / "new.parquet"
    target.write_bytes(b"precious")
    if not links:
        monkeypatch.setattr(os, "link", refuse_with(errno.EOPNOTSUPP))

    with pytest.raises(ParquetError, match="exists already"):
        splice_local(plan, target)
    assert target.read_bytes() == b"precious"
    assert visible(tmp_path) == ["new.parquet"]


def test_hard_links_are_not_needed(tmp_path, plan, monkeypatch) -> None:
    monkeypatch.setattr(os, "link", refuse_with(errno.EOPNOTSUPP))
    splice_local(plan, tmp_path / "new.parquet")

    assert pq.read_metadata(tmp_path / "new.parquet").num_rows == 15_000
    assert visible(tmp_path) == ["new.parquet"]


def test_a_changed_source_is_refused(tmp_path, plan) -> None:
    with (tmp_path / "source-1.parquet").open("ab") as file:
        file.write(b"more")

    with pytest.raises(ParquetError, match="when the splice was planned"):
        splice_local(plan, tmp_path / "new.parquet")
    assert visible(tmp_path) == []


def test_a_missing_source_is_refused(tmp_path, plan) -> None:
    (tmp_path / "source-1.parquet").unlink()

    with pytest.raises(ParquetError, match=r"source-1.parquet cannot be read"):
        splice_local(plan, tmp_path / "new.parquet")
    assert visible(tmp_path) == []


def test_a_flipped_byte_is_found_by_comparing(tmp_path, plan, monkeypatch) -> None:
    written = copy_local.copy_range

    def flip(reader, offset, length, descriptor) -> None:
        written(reader, offset, length, descriptor)
        os.pwrite(descriptor, bytes(range(100)), os.lseek(descriptor, 0, os.SEEK_CUR) - 100)

    monkeypatch.setattr(copy_local, "copy_range", flip)
    with pytest.raises(ParquetCorrupt, match="other bytes than its sources"):
        splice_local(plan, tmp_path / "new.parquet", verify="bytes")
    assert visible(tmp_path) == []


def test_more_sources_than_may_be_open_at_once(tmp_path, plan, monkeypatch) -> None:
    monkeypatch.setattr("neve.parquet.sources.MAX_OPEN_SOURCES", 1)

    assert splice_local(plan, tmp_path / "new.parquet").rows == 15_000


def test_a_file_unlike_its_plan_is_named(tmp_path, plan) -> None:
    target = tmp_path / "new.parquet"
    splice_local(plan, target)
    whole = target.read_bytes()
    other_writer = whole.replace(b"parquet-cpp-arrow", b"parquet-cpp-sparrow"[:17])

    for changed, message in [
        (whole[:-1], "bytes instead of"),
        (b"X" + whole[1:], "another beginning"),
        (other_writer, "another footer"),
    ]:
        target.write_bytes(changed)
        with LocalReader(target) as reader, pytest.raises(ParquetCorrupt, match=message):
            outcome.check_output(plan, reader)


def test_a_plan_that_promises_other_rows_is_named(tmp_path, plan) -> None:
    with pytest.raises(ParquetCorrupt, match="other row groups"):
        splice_local(replace(plan, rows=plan.rows + 1), tmp_path / "new.parquet")
    assert visible(tmp_path) == []

"""Files in which copied bytes and bytes of ours lie side by side, in one row group too."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.parquet.fake_s3 import FakeS3

from neve.model.errors import ParquetCorrupt
from neve.parquet import copy_local
from neve.parquet.copy_local import splice_local
from neve.parquet.copy_s3 import splice_in_s3
from neve.parquet.footer import read_footer
from neve.parquet.layout import MAGIC
from neve.parquet.plan import CopyRange, Encoded, Part, PartList, SourceFile, SplicePlan
from neve.parquet.remote import plan_through_client, plan_upload
from neve.storage.readers import MemoryReader
from neve.storage.s3 import S3Reader, S3Store

TABLE = pa.table({"a": list(range(900)), "b": [f"text {n}" for n in range(900)]})


def parquet_bytes() -> bytes:
    sink = io.BytesIO()
    pq.write_table(TABLE, sink, row_group_size=300, compression="none")
    return sink.getvalue()


DATA = parquet_bytes()
FOOTER = read_footer(MemoryReader(DATA))


def mixed(path: str, cuts: list[tuple[int, bool]]) -> SplicePlan:
    """The same file again, cut anywhere: pieces are copied from it, or are bytes of ours."""
    parts = PartList()
    parts.write(MAGIC)
    end = FOOTER.footer_start
    edges = sorted({len(MAGIC), end, *(len(MAGIC) + at % (end - len(MAGIC)) for at, _ in cuts)})
    kinds = [is_ours for _, is_ours in cuts] + [False]
    for number, (start, stop) in enumerate(pairwise(edges)):
        place = (
            parts.encode(DATA[start:stop])
            if kinds[number % len(kinds)]
            else parts.copy(0, start, stop - start)
        )
        assert place == start
    finished = parts.finish(DATA[end:])
    return SplicePlan(
        (SourceFile(path, len(DATA)),),
        finished,
        parts.size_bytes,
        FOOTER.rows,
        len(FOOTER.row_groups),
        tuple(group.split_offset for group in FOOTER.row_groups),
        (),
    )


cuts = st.lists(st.tuples(st.integers(0, 10**6), st.booleans()), max_size=9)


@given(cuts)
def test_a_local_file_of_both_kinds_is_the_planned_one_and_wholly_compared(
    chosen: list[tuple[int, bool]],
) -> None:
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        source.write_bytes(DATA)
        plan = mixed(str(source), chosen)

        result = splice_local(plan, target, verify="bytes")

        assert target.read_bytes() == DATA
    assert result.compared_bytes == plan.data_bytes == FOOTER.footer_start - len(MAGIC)
    assert result.copied_bytes + result.encoded_bytes == plan.data_bytes


@given(cuts, st.sampled_from(["size", "checksum"]), st.booleans())
def test_an_object_of_both_kinds_is_the_planned_one(
    chosen: list[tuple[int, bool]], verify: str, by_store: bool
) -> None:
    client = FakeS3(min_part_bytes=1_000)
    client.put("source", DATA)
    store = S3Store(client)
    plan = mixed("s3://b/source", chosen)
    upload = (
        plan_upload(plan, min_part_bytes=1_000, max_part_bytes=4_000)
        if by_store
        else plan_through_client(plan, min_part_bytes=1_000)
    )

    done = splice_in_s3(
        plan, upload, store, "s3://b/new", [S3Reader(store, "s3://b/source")], verify=verify
    )

    assert client.data("new") == DATA
    assert done.was_read_back == (verify == "checksum")
    if done.was_read_back:
        data = DATA[len(MAGIC) : FOOTER.footer_start]
        assert (done.result.checksum, done.result.compared_bytes) == (zlib.crc32(data), len(data))


def test_one_row_group_may_have_a_copied_column_and_one_of_ours(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(DATA)
    column = pq.read_metadata(io.BytesIO(DATA)).row_group(1).column(1)
    start = column.dictionary_page_offset or column.data_page_offset
    stop = start + column.total_compressed_size
    at = len(MAGIC)
    plan = mixed(str(tmp_path / "source"), [(start - at, False), (stop - at, True)])

    splice_local(plan, tmp_path / "target", verify="bytes")

    kinds = [(type(part), part.length) for part in plan.parts[1:-1]]
    assert kinds == [
        (CopyRange, start - at),
        (Encoded, stop - start),
        (CopyRange, FOOTER.footer_start - stop),
    ]
    assert pq.read_table(tmp_path / "target").equals(TABLE)


@pytest.mark.parametrize("is_ours", [True, False])
def test_a_byte_of_either_kind_that_came_out_wrong_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_ours: bool
) -> None:
    (tmp_path / "source").write_bytes(DATA)
    plan = mixed(str(tmp_path / "source"), [(0, is_ours)])
    real: Callable[..., None] = copy_local._write

    def spoil(plan: SplicePlan, draft: Path, *, sync: bool) -> None:
        real(plan, draft, sync=sync)
        data = bytearray(draft.read_bytes())
        data[FOOTER.footer_start // 2] ^= 1
        draft.write_bytes(bytes(data))

    monkeypatch.setattr(copy_local, "_write", spoil)

    assert isinstance(plan.parts[1], Encoded) == is_ours
    with pytest.raises(ParquetCorrupt, match="with other bytes than"):
        splice_local(plan, tmp_path / "target", verify="bytes")
    assert not (tmp_path / "target").exists()


def test_an_object_whose_pages_of_ours_came_out_wrong_is_found() -> None:
    client = FakeS3(min_part_bytes=1_000)
    client.put("source", DATA)
    client.digest = lambda data: f"opaque-{len(data)}"
    store, plan = S3Store(client), mixed("s3://b/source", [(0, True)])
    wrong: tuple[Part, ...] = (plan.parts[0], Encoded(bytes(plan.parts[1].length)), plan.parts[2])
    sent = plan_through_client(SplicePlan(plan.sources, wrong, plan.size_bytes, 0, 0, (), ()))

    with pytest.raises(ParquetCorrupt, match="other bytes than its sources"):
        splice_in_s3(plan, sent, store, "s3://b/new", [S3Reader(store, "s3://b/source")])

    assert "new" not in client.objects

"""What sources must share: schema, meaning and trust; the rest is left out and noted."""

from __future__ import annotations

import pyarrow as pa
import pytest

from neve.model.errors import ParquetUnsupported
from neve.parquet import spans, thrift
from neve.parquet.agreement import agree, encode_key_values
from neve.parquet.footer import Footer, read_footer
from neve.parquet.layout import FileMeta
from neve.parquet.splice import plan_splice
from neve.storage.readers import MemoryReader

TABLE = pa.table({"a": [1]})


@pytest.fixture(scope="module")
def footer_with(write, rewrite_footer):
    def make(table: pa.Table = TABLE, **pairs: str) -> Footer:
        encoded = encode_key_values([(k.encode(), v.encode()) for k, v in pairs.items()])
        data = rewrite_footer(
            write(table),
            lambda footer: b"".join(
                spans.rewrite(spans.open_struct(footer, 0), {FileMeta.KEY_VALUES: encoded})
            ),
        )
        return read_footer(MemoryReader(data))

    return make


@pytest.fixture(scope="module")
def changed(write, rewrite_footer):
    def make(changes: dict[int, bytes | None], extra: bytes = b"") -> Footer:
        def change(encoded: bytes) -> bytes:
            rewritten = b"".join(spans.rewrite(spans.open_struct(encoded, 0), changes))
            return rewritten[:-1] + extra + b"\0"

        return read_footer(MemoryReader(rewrite_footer(write(TABLE), change)))

    return make


def test_keys_that_agree_stay(footer_with) -> None:
    agreed = agree([footer_with(k="v", only="x"), footer_with(k="v", other="y")])

    assert agreed.key_values == ((b"k", b"v"),)
    assert agreed.notes == (
        "key 'only' left out: it is not the same in all files",
        "key 'other' left out: it is not the same in all files",
    )


def test_keys_that_differ_are_left_out(footer_with) -> None:
    agreed = agree([footer_with(**{"iceberg.schema": "1"}), footer_with(**{"iceberg.schema": "2"})])

    assert agreed.key_values == ()


def test_pandas_describes_its_own_rows_only(footer_with) -> None:
    assert agree([footer_with(pandas="{}")]).key_values == ((b"pandas", b"{}"),)
    assert agree([footer_with(pandas="{}")] * 2).key_values == ()


@pytest.mark.parametrize("key", ["org.apache.spark.legacyDateTime", "delete-type"])
def test_keys_that_change_meaning_must_agree(footer_with, key: str) -> None:
    assert agree([footer_with(**{key: "x"})] * 2).key_values == ((key.encode(), b"x"),)
    with pytest.raises(ParquetUnsupported, match=f"differ in '{key}'"):
        agree([footer_with(**{key: "x"}), footer_with()])


def test_other_schemas_are_refused(footer_with) -> None:
    renamed = pa.table({"b": [1]})

    with pytest.raises(ParquetUnsupported, match="differ in schema"):
        agree([footer_with(), footer_with(renamed)])


def test_other_field_ids_are_refused(footer_with) -> None:
    field = pa.field("a", pa.int64(), metadata={"PARQUET:field_id": "1"})
    with_id = pa.table([[1]], schema=pa.schema([field]))

    with pytest.raises(ParquetUnsupported, match="differ in schema"):
        agree([footer_with(), footer_with(with_id)])


def test_nothing_to_splice_is_refused() -> None:
    with pytest.raises(ParquetUnsupported, match="no file to splice"):
        plan_splice([])


def test_column_orders_missing_somewhere_are_left_out(changed) -> None:
    agreed = agree([changed({}), changed({FileMeta.COLUMN_ORDERS: None})])

    assert agreed.other_fields == ()
    assert agreed.notes == ("footer field 7 left out: it is not the same in all files",)


def test_other_column_orders_are_refused(changed) -> None:
    total_order = bytes([0x1C, 0x2C, 0, 0])

    with pytest.raises(ParquetUnsupported, match="order their columns' bounds"):
        agree([changed({}), changed({FileMeta.COLUMN_ORDERS: total_order})])


def test_signed_footers_are_refused(changed) -> None:
    algorithm = bytes([thrift.STRUCT]) + thrift.encode_int(8) + b"\x1c\0\0"

    with pytest.raises(ParquetUnsupported, match="encrypted or has a signed footer"):
        agree([changed({}, algorithm)])


def test_unknown_versions_are_refused(changed) -> None:
    with pytest.raises(ParquetUnsupported, match="unknown version 3"):
        agree([changed({FileMeta.VERSION: thrift.encode_int(3)})])

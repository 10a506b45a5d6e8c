from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.errors import RowsUnsupported
from neve.rows.encode import WriterOptions, writer_options

PROPERTIES = {
    "write.parquet.compression-codec": "ZSTD",
    "write.parquet.compression-level": "7",
    "write.parquet.row-group-size-bytes": "1000",
    "write.parquet.page-size-bytes": "2000",
    "write.parquet.page-row-limit": "30",
    "write.parquet.dict-size-bytes": "4000",
    "write.parquet.page-version": "v2",
}


def test_properties_become_options():
    assert writer_options(PROPERTIES) == WriterOptions("zstd", 7, 1000, 2000, 30, 4000, "2.0")
    assert writer_options({}) == WriterOptions()


@pytest.mark.parametrize(
    "properties",
    [
        {"write.parquet.bloom-filter-enabled.column.a": "true"},
        {"write.parquet.compression-codec": "lzo"},
        {"write.parquet.row-group-size-bytes": "0"},
        {"write.parquet.page-row-limit": "many"},
        {"write.parquet.page-version": "v3"},
        {"write.parquet.compression-codec": "zstd", "write.parquet.compression-level": "high"},
    ],
)
def test_what_cannot_be_done_is_refused(properties: dict[str, str]):
    with pytest.raises(RowsUnsupported):
        writer_options(properties)


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"])
def test_every_codec_is_one_of_arrows(codec: str):
    asked = writer_options({"write.parquet.compression-codec": codec}).compression
    target = io.BytesIO()

    pq.write_table(pa.table({"a": [1]}), target, compression=asked.replace("uncompressed", "none"))

    column = pq.ParquetFile(target).metadata.row_group(0).column(0)
    assert column.compression.lower() == codec

"""How rows are written: `write.parquet.*`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from neve.model.errors import RowsUnsupported

_CODECS: Final = ("zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed")
_LEVELLED: Final = ("zstd", "gzip", "brotli")
#: Where nobody asks for a level: what Java's writers do. Arrow's own is 9 for gzip, which takes ten
#: times as long as 6 on some data, for a few percent of the bytes.
_USUAL_LEVELS: Final = {"gzip": 6, "brotli": 1}
#: Iceberg's default for tables without the property; those made since 1.4 have it as zstd.
_DEFAULT_CODEC: Final = "gzip"
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """What a table's properties ask of its Parquet files."""

    compression: str = _DEFAULT_CODEC
    compression_level: int | None = 6
    row_group_bytes: int = 128 * _MIB
    page_bytes: int = _MIB
    page_rows: int = 20_000
    dictionary_bytes: int = 2 * _MIB
    data_page_version: str = "1.0"


def writer_options(properties: Mapping[str, str]) -> WriterOptions:
    """The options of a table; what pyarrow cannot do is refused."""
    if any(
        key.startswith("write.parquet.bloom-filter-enabled.") and value.lower() == "true"
        for key, value in properties.items()
    ):
        raise RowsUnsupported("The table wants Bloom filters, which are not written natively.")
    codec = properties.get("write.parquet.compression-codec", _DEFAULT_CODEC).lower()
    codec = "uncompressed" if codec in ("none", "uncompressed") else codec
    if codec not in _CODECS:
        raise RowsUnsupported(f"Files are not compressed by {codec!r} natively.")
    return WriterOptions(
        codec,
        _level(codec, properties.get("write.parquet.compression-level")),
        _property(properties, "write.parquet.row-group-size-bytes", 128 * _MIB),
        _property(properties, "write.parquet.page-size-bytes", _MIB),
        _property(properties, "write.parquet.page-row-limit", 20_000),
        _property(properties, "write.parquet.dict-size-bytes", 2 * _MIB),
        _page_version(properties),
    )


def _level(codec: str, asked: str | None) -> int | None:
    if asked and codec in _LEVELLED:
        return _number("write.parquet.compression-level", asked)
    return _USUAL_LEVELS.get(codec)


def _page_version(properties: Mapping[str, str]) -> str:
    asked = properties.get("write.parquet.page-version", "v1").lower()
    if asked not in ("v1", "v2"):
        raise RowsUnsupported(f"There are no data pages of version {asked!r}.")
    return "2.0" if asked == "v2" else "1.0"


def _property(properties: Mapping[str, str], key: str, default: int) -> int:
    found = _number(key, properties.get(key, str(default)))
    if found <= 0:
        raise RowsUnsupported(f"The table property {key} is not above zero: {found}.")
    return found


def _number(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise RowsUnsupported(f"The table property {key} is no number: {text!r}.") from None

"""Codecs by their number in the format, their name in the footer and their name in Arrow."""

from __future__ import annotations

from typing import Final

from neve.model.errors import ParquetUnsupported
from neve.parquet.layout import CODECS

#: Those that Arrow reads and writes; LZO and the first LZ4, which has two forms, are not.
ARROW_CODECS: Final = {0: "none", 1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_LZ4_RAW: Final = 7


def codec_number(name: str) -> int:
    """The number of a codec that a table names; what is new in LZ4 is raw."""
    upper = name.upper()
    if upper == "LZ4":
        return _LZ4_RAW
    if upper in ("NONE", "UNCOMPRESSED"):
        return 0
    if upper not in CODECS or CODECS.index(upper) not in ARROW_CODECS:
        raise ParquetUnsupported(f"Nothing is written with the codec {name!r}.")
    return CODECS.index(upper)

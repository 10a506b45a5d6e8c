from __future__ import annotations

from tests.unit.parquet.conftest import (
    carry_out,
    load,
    metadata,
    read,
    rewrite_footer,
    splice,
    write,
)

__all__ = ["carry_out", "load", "metadata", "read", "rewrite_footer", "splice", "write"]

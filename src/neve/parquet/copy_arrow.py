"""Carry out a splice in a store that Arrow reaches: all bytes pass through this process."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Final

from neve.model.errors import ParquetError
from neve.parquet.copy_local import compare_data
from neve.parquet.outcome import SpliceResult, check_output
from neve.parquet.plan import CopyRange, SplicePlan
from neve.parquet.sources import OpenSources
from neve.storage.arrow import ArrowStore

_PIECE_BYTES: Final = 8 * 1024 * 1024


def splice_through_arrow(
    plan: SplicePlan, store: ArrowStore, target: str, *, read_back: bool
) -> SpliceResult:
    """Write the planned file, which must not exist; a failed attempt is deleted again.

    With `read_back` all data is read again, from the new file and from its sources.
    """
    try:
        stream = store.create(target)
    except OSError as error:
        raise ParquetError(f"{target} cannot be written: {error}.") from error
    try:
        with stream, OpenSources(plan, store.open) as sources:
            for part in plan.parts:
                if not isinstance(part, CopyRange):
                    stream.write(part.data)
                    continue
                reader = sources.reader(part.source)
                for done in range(0, part.length, _PIECE_BYTES):
                    size = min(_PIECE_BYTES, part.length - done)
                    stream.write(reader.read_at(part.offset + done, size))
        with store.open(target) as written:
            result = check_output(plan, written)
            if read_back:
                compared = compare_data(plan, written, store.open)
                result = replace(result, compared_bytes=compared)
    except BaseException as error:
        # No commit knows of it, and whoever refuses leaves nothing behind.
        with suppress(OSError):
            store.delete(target)
        if isinstance(error, OSError):
            raise ParquetError(f"{target} cannot be written: {error}.") from error
        raise
    return result

"""Carry out a splice through a pyarrow file system, reading ahead within a fixed budget."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from typing import Any, Final

from neve.model.errors import ParquetError
from neve.parquet.outcome import SpliceResult, Verify, check_output
from neve.parquet.plan import CopyRange, Encoded, Literal, Part, SplicePlan
from neve.parquet.sources import OpenSources
from neve.storage.readers import StoreReader

#: Pieces in flight and the one being written stay within 40 MiB, whatever the size of the file.
_PIECE_BYTES: Final = 8 * 1024 * 1024
_PIECES_AHEAD: Final = 4


def splice_to_store(
    plan: SplicePlan,
    file_system: Any,
    target: str,
    *,
    source_file_system: Any = None,
    verify: Verify = "size",
) -> SpliceResult:
    """Write the planned file to a store; a failed attempt is deleted again.

    Stores differ in what they offer against two writers of one name, so the name should be unique
    to the attempt; a file that is there already is refused, not replaced.
    """
    refuse_existing(file_system, target)
    try:
        checksum = _write(plan, file_system, target, source_file_system or file_system)
        with StoreReader(file_system, target) as reader:
            return check_output(plan, reader, checksum if verify == "checksum" else None)
    except BaseException as error:
        with suppress(OSError):
            file_system.delete_file(target)
        if isinstance(error, OSError):
            raise ParquetError(f"{target} cannot be written: {error}.") from error
        raise


def refuse_existing(file_system: Any, target: str) -> None:
    """Refuse a name that is taken."""
    try:
        kind = file_system.get_file_info(target).type.name
    except OSError as error:
        raise ParquetError(f"{target} cannot be looked up: {error}.") from error
    if kind != "NotFound":
        raise ParquetError(f"{target} exists already and is not replaced.")


def _write(plan: SplicePlan, file_system: Any, target: str, source_file_system: Any) -> int:
    checksum = 0
    with (
        OpenSources(plan, lambda path: StoreReader(source_file_system, path)) as sources,
        file_system.open_output_stream(target) as output,
        closing(_pieces(plan, sources)) as pieces,
    ):
        for data, is_data in pieces:
            output.write(data)
            if is_data:
                checksum = zlib.crc32(data, checksum)
    return checksum


def _pieces(plan: SplicePlan, sources: OpenSources[StoreReader]) -> Generator[tuple[bytes, bool]]:
    """The bytes of the new file in order, and whether they are data."""
    ahead: deque[Future[bytes] | Literal | Encoded] = deque()
    with ThreadPoolExecutor(max_workers=_PIECES_AHEAD, thread_name_prefix="splice") as pool:
        for part in _small_parts(plan):
            if isinstance(part, CopyRange):
                reader = sources.reader(part.source)
                ahead.append(pool.submit(reader.read_at, part.offset, part.length))
            else:
                ahead.append(part)
            if len(ahead) > _PIECES_AHEAD:
                yield _resolve(ahead.popleft())
        while ahead:
            yield _resolve(ahead.popleft())


def _resolve(piece: Future[bytes] | Literal | Encoded) -> tuple[bytes, bool]:
    if isinstance(piece, Future):
        return piece.result(), True
    return piece.data, isinstance(piece, Encoded)


def _small_parts(plan: SplicePlan) -> Iterator[Part]:
    for part in plan.parts:
        if not isinstance(part, CopyRange):
            yield part
            continue
        for start in range(0, part.length, _PIECE_BYTES):
            length = min(_PIECE_BYTES, part.length - start)
            yield CopyRange(part.source, part.offset + start, length)

"""Carry out a splice between files of this machine, with the kernel copying where it can."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from neve.model.errors import ParquetCorrupt, ParquetError
from neve.parquet.outcome import SpliceResult, check_output
from neve.parquet.plan import CopyRange, Encoded, SplicePlan
from neve.parquet.sources import ClosableReader, OpenSources
from neve.storage.readers import LocalReader, Reader

#: Larger buffers come from fresh pages of memory every time, which takes longer than the copy.
_BUFFER_BYTES: Final = 128 * 1024
_KERNEL_COPY_BYTES: Final = 1 << 30
#: What the kernel says where two files are not on file systems that copy for us.
_NOT_COPIED_BY_KERNEL: Final = frozenset(
    (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF)
)
_NO_HARD_LINKS: Final = frozenset((errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK))


def splice_local(
    plan: SplicePlan,
    target: str | os.PathLike[str],
    *,
    verify: Literal["size", "bytes"] = "size",
    sync: bool = False,
) -> SpliceResult:
    """Write the planned file; it appears under its name only when it is whole and checked.

    An existing file is never replaced. With "bytes" all data is read back and compared with its
    source, or with what we encoded; `sync` waits until the disk has them.
    """
    final = Path(target)
    # Not hidden: what a killed process leaves must be found by whoever looks for orphans.
    draft = final.with_name(f"{final.name}.{secrets.token_hex(8)}.tmp")
    try:
        _write(plan, draft, sync=sync)
        with LocalReader(draft) as reader:
            result = check_output(plan, reader)
            if verify == "bytes":
                compared = compare_data(plan, reader, LocalReader)
                result = replace(result, compared_bytes=compared)
        publish(draft, final)
        if sync:
            sync_folder(final.parent)
    except OSError as error:
        raise ParquetError(f"{final} cannot be written: {error.strerror or error}.") from error
    finally:
        draft.unlink(missing_ok=True)
    return replace(result, path=str(final))


def _write(plan: SplicePlan, draft: Path, *, sync: bool) -> None:
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with OpenSources(plan, LocalReader) as sources:
            for part in plan.parts:
                if isinstance(part, CopyRange):
                    copy_range(sources.reader(part.source), part.offset, part.length, descriptor)
                else:
                    write_all(descriptor, part.data)
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def compare_data(
    plan: SplicePlan, written: Reader, open_reader: Callable[[str], ClosableReader]
) -> int:
    """Hold every byte of data against what it should be; returns how many there were."""
    at = compared = 0
    with OpenSources(plan, open_reader) as sources:
        for part in plan.parts:
            if isinstance(part, CopyRange):
                compare_range(sources.reader(part.source), part, written, at)
                compared += part.length
            elif isinstance(part, Encoded):
                compare_encoded(part, written, at)
                compared += part.length
            at += part.length
    return compared


def compare_range(reader: Reader, part: CopyRange, written: Reader, at: int) -> None:
    """Raise where a range of a source and what was written of it differ."""
    for done in range(0, part.length, _BUFFER_BYTES):
        size = min(_BUFFER_BYTES, part.length - done)
        if reader.read_at(part.offset + done, size) != written.read_at(at + done, size):
            raise ParquetCorrupt(f"{written.path} was written with other bytes than its sources.")


def compare_encoded(part: Encoded, written: Reader, at: int) -> None:
    """Raise where pages of ours and what was written of them differ."""
    expected = memoryview(part.data)
    for done in range(0, part.length, _BUFFER_BYTES):
        size = min(_BUFFER_BYTES, part.length - done)
        if written.read_at(at + done, size) != expected[done : done + size]:
            raise ParquetCorrupt(f"{written.path} was written with other bytes than were encoded.")


def copy_range(reader: LocalReader, offset: int, length: int, descriptor: int) -> None:
    """Append a range of a file to another, inside the kernel if it agrees."""
    end = offset + length
    offset = _copy_in_kernel(reader, offset, end, descriptor)
    while offset < end:
        data = reader.read_at(offset, min(_BUFFER_BYTES, end - offset))
        write_all(descriptor, data)
        offset += len(data)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write every byte, however few the kernel takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _copy_in_kernel(reader: LocalReader, offset: int, end: int, descriptor: int) -> int:
    kernel_copy = getattr(os, "copy_file_range", None)
    while kernel_copy is not None and offset < end:
        try:
            count = min(_KERNEL_COPY_BYTES, end - offset)
            copied = kernel_copy(reader.fileno(), descriptor, count, offset)
        except OSError as error:
            if error.errno not in _NOT_COPIED_BY_KERNEL:
                raise
            break
        # Nothing copied is the end of the file, or a file system that only pretends.
        if copied == 0:
            break
        offset += copied
    return offset


def publish(draft: Path, final: Path) -> None:
    """Give a finished file its name, unless the name is taken."""
    try:
        os.link(draft, final)
    except FileExistsError:
        raise _exists(final) from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _publish_by_rename(draft, final)


def _publish_by_rename(draft: Path, final: Path) -> None:
    # A rename replaces what is there, so first own the name; then only our own file is replaced.
    try:
        os.close(os.open(final, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        raise _exists(final) from None
    try:
        draft.replace(final)
    except OSError:
        with suppress(OSError):
            final.unlink()
        raise


def _exists(final: Path) -> ParquetError:
    return ParquetError(f"{final} exists already and is not replaced.")


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Assembled files on this machine: written, read back, and only then handed out."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from neve.model.errors import ParquetCorrupt, ParquetError
from neve.parquet.assembly.encode import EncodeOptions
from neve.parquet.assembly.plan import AssemblyPlan
from neve.parquet.assembly.provide import ColumnProvider
from neve.parquet.assembly.result import AssemblyResult
from neve.parquet.assembly.row_group import Watch
from neve.parquet.assembly.write import KeyValues, write_assembly
from neve.parquet.copy_local import copy_range, publish, sync_folder, write_all
from neve.parquet.footer import read_footer
from neve.parquet.sources import ClosableReader
from neve.storage.readers import LocalReader, Reader


def assemble_local(
    plan: AssemblyPlan,
    target: str | os.PathLike[str],
    *,
    provider: ColumnProvider | None = None,
    options: EncodeOptions | None = None,
    key_values: KeyValues = (),
    watch: Watch | None = None,
    sync: bool = False,
    open_source: Callable[[str], ClosableReader] = LocalReader,
) -> AssemblyResult:
    """Write the planned file; it appears under its name only when it is whole and checked."""
    final = Path(target)
    # Not hidden: what a killed process leaves must be found by whoever looks for orphans.
    draft = final.with_name(f"{final.name}.{secrets.token_hex(8)}.tmp")
    try:
        with _LocalSink(draft, sync=sync) as sink:
            result = write_assembly(
                plan,
                open_source,
                sink,
                provider=provider,
                options=options,
                key_values=key_values,
                watch=watch,
            )
        with LocalReader(draft) as reader:
            check_written(reader, result)
        publish(draft, final)
        if sync:
            sync_folder(final.parent)
    except OSError as error:
        raise ParquetError(f"{final} cannot be written: {error.strerror or error}.") from error
    finally:
        draft.unlink(missing_ok=True)
    return result


def check_written(reader: Reader, result: AssemblyResult) -> None:
    """Hold a written file against what was written; raises where they differ."""
    footer = read_footer(reader)
    found = (
        reader.size_bytes,
        footer.rows,
        tuple(group.split_offset for group in footer.row_groups),
    )
    if found != (result.size_bytes, result.rows, result.split_offsets):
        raise ParquetCorrupt(f"{reader.path} is not what was written.")


class _LocalSink:
    """A new file of this machine, into which the kernel copies where it can."""

    def __init__(self, path: Path, *, sync: bool) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        self._sync = sync

    def write(self, data: bytes | memoryview) -> None:
        write_all(self._descriptor, data)

    def copy(self, reader: Reader, offset: int, length: int) -> None:
        if isinstance(reader, LocalReader):
            copy_range(reader, offset, length, self._descriptor)
            return
        write_all(self._descriptor, reader.read_at(offset, length))

    def __enter__(self) -> _LocalSink:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if self._sync and error is None:
                os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)

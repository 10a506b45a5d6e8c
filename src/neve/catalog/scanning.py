"""Rows of a table, read without an engine: bounded, and from the table's own files alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table

from neve.catalog.errors import damage, first_line, unreachable
from neve.catalog.projection import keep_nulls
from neve.catalog.pushed_filters import row_filter
from neve.model.database import QueryLimits, Wanted
from neve.model.errors import CatalogError, QueryLimit, TableDamaged
from neve.model.sizes import format_size
from neve.model.table import TableRef
from neve.planning.own_files import refuse_others_files

if TYPE_CHECKING:
    import pyarrow as pa

#: How clients of storage speak of a storage that does not answer.
AWAY = re.compile(r"(?i)aws error|google::cloud|azure|curl|connection|timed? ?out")


def read_rows(
    ref: TableRef,
    loaded: Table,
    wanted: Wanted,
    limits: QueryLimits,
    deadline: Callable[[], None],
) -> pa.Table:
    """Rows that are wanted, and perhaps others; QueryLimit where there are more than may be."""
    import pyarrow as pa

    keep_nulls()
    selected = _selected(loaded.schema(), wanted.columns)
    deadline()
    try:
        scan = loaded.scan(
            row_filter(loaded.schema(), wanted.conditions), selected, limit=wanted.max_rows
        )
        tasks = list(scan.plan_files())
        # Where the catalog says that its metadata lies; what that says of itself is no proof.
        folder = loaded.metadata_location.rpartition("/metadata/")[0]
        refuse_others_files(ref, _paths(tasks), loaded.location(), folder)
        # Planned once: what was looked at is what is read.
        scan.plan_files = lambda: tasks  # type: ignore[method-assign]
        reader = scan.to_arrow_batch_reader()
        batches = _bounded(ref, reader, limits, deadline)
        return pa.Table.from_batches(batches, schema=reader.schema)
    except MemoryError as error:
        raise QueryLimit(
            f"The rows of {ref.name} take more memory to read than the "
            f"{format_size(limits.memory_bytes)} that a query may have: its row groups are large, "
            "or a file is damaged.",
            next_step="Name fewer columns, or ask another engine.",
        ) from error
    except damage() as error:
        raise _unreadable(ref, error) from error


def _bounded(
    ref: TableRef,
    reader: Iterable[pa.RecordBatch],
    limits: QueryLimits,
    deadline: Callable[[], None],
) -> list[pa.RecordBatch]:
    read_bytes, batches = 0, []
    for batch in reader:
        deadline()
        read_bytes += batch.nbytes
        if read_bytes > limits.max_scan_bytes:
            raise QueryLimit(
                f"The rows of {ref.name} take more than "
                f"{format_size(limits.max_scan_bytes)}, which is more than QUERY reads.",
                next_step="Name fewer columns, or ask another engine.",
            )
        batches.append(batch)
    return batches


def _paths(tasks: Sequence[FileScanTask]) -> Iterator[str]:
    for task in tasks:
        yield from (file.file_path for file in (task.file, *task.delete_files))


def _unreadable(ref: TableRef, error: BaseException) -> CatalogError:
    is_away = isinstance(error, OSError) and AWAY.search(str(error))
    if is_away or isinstance(error, unreachable()):
        return CatalogError(f"The rows of {ref.name} could not be read: {first_line(error)}")
    return TableDamaged(
        f"The rows of {ref.name} could not be read: its files are missing or damaged "
        f"({type(error).__name__}).",
        next_step="Ask whoever runs the catalog to look at it: neve doctor.",
    )


def _selected(schema: Schema, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Columns as the schema writes them; one where none is needed, for the count of its rows."""
    names = [field.name for field in schema.fields]
    if columns is None:
        return tuple(names)
    wanted = {column.lower() for column in columns}
    return tuple(name for name in names if name.lower() in wanted) or tuple(names[:1])

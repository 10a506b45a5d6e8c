"""A tenant's table is made of files in its own folder, whatever its metadata says."""

from __future__ import annotations

from collections.abc import Iterable

from neve.model.errors import TableDamaged
from neve.model.table import TableRef
from neve.planning.locations import is_surely_within


def refuse_others_files(table: TableRef, paths: Iterable[str], *folders: str) -> None:
    """Whoever writes metadata could otherwise have any file read that this process may read."""
    for path in paths:
        if not all(is_surely_within(path, folder) for folder in folders):
            raise TableDamaged(
                f"Table {table.name} lists a file that does not lie in its own folder.",
                next_step="Ask whoever runs the catalog to look at it: neve doctor.",
            )

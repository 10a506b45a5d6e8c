"""Folders that hold a table by what lies in them, whether a catalog knows it or not.

A table may be known by its path alone, by a catalog that is not configured here, or by none since
it was dropped without its files. Where it lies below another table, no reference shows its files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from neve.model.orphans import KeptReason

#: Iceberg's metadata files, as catalogs and as tables by path name them.
METADATA_FILE = r"[^/]+\.metadata\.json(?:\.gz)?"
_METADATA = re.compile(rf"(.+)/metadata/(?:{METADATA_FILE}|version-hint\.text)")
#: Where Delta Lake, Hudi and Paimon keep what they know of a table, at any depth.
_OTHER_FORMATS = re.compile(r"(.+?)/(?:_delta_log/.+|\.hoodie/.+|schema/schema-[0-9]+)")
#: Why a metadata file is kept whosever it is: none of these needs another look.
_SETTLED = (KeptReason.REACHABLE, KeptReason.OTHER_TABLE, KeptReason.HIDDEN)


def table_folder(path: str, roots: Collection[str]) -> str | None:
    """The folder that this file shows to be a table's; None for most files.

    Metadata right below a root is the swept table's own. A log of another format is not: then two
    formats share the folder, and what one does not reach may be the other's.
    """
    if found := _OTHER_FORMATS.fullmatch(path):
        return found[1]
    found = _METADATA.fullmatch(path)
    if found is None or any(found[1] == root.rstrip("/") for root in roots):
        return None
    return found[1]


def is_unclear(path: str, keep: KeptReason | None) -> bool:
    """Whether only its content tells whose metadata this is, however old the file."""
    return keep not in _SETTLED and re.search(f"/{METADATA_FILE}$", path) is not None


def foreign_folders(signs: Iterable[tuple[str | None, bool]]) -> tuple[str, ...]:
    """Folders of other tables, outermost ones, each with a slash at its end.

    Signs come with whether the swept table reaches that file: its metadata may lie anywhere.
    """
    seen = list(signs)
    own = {folder for folder, is_reached in seen if is_reached}
    foreign = {folder for folder, _ in seen if folder is not None} - own
    found: list[str] = []
    for folder in sorted(f"{folder}/" for folder in foreign):
        if not found or not folder.startswith(found[-1]):
            found.append(folder)
    return tuple(found)

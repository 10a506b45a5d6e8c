"""What the maintenance log says about an operation, in words."""

from __future__ import annotations

from dataclasses import dataclass

from neve.model.operation import Operation
from neve.trino.settings import MaintenanceSettings

# A failure in Trino can carry a page of text; the log wants its beginning.
LONGEST_SENTENCE = 1000


@dataclass(frozen=True, slots=True)
class Counts:
    """A table's size; None where Trino could not tell."""

    snapshots: int | None = None
    files: int | None = None

    def figures(self) -> dict[str, int]:
        """What is known, by name."""
        known = {"snapshots": self.snapshots, "files": self.files}
        return {name: count for name, count in known.items() if count is not None}


def intend(operation: Operation, counts: Counts, settings: MaintenanceSettings) -> str:
    """What Trino would be asked to do; it has no dry run of its own that could say more."""
    match operation:
        case Operation.REWRITE_DATA_FILES:
            has = _number("file", counts.files)
            return f"Would rewrite files under {settings.file_size_threshold}; the table has {has}."
        case Operation.EXPIRE_SNAPSHOTS:
            has = _number("snapshot", counts.snapshots)
            age = settings.snapshot_retention
            return f"Would expire snapshots older than {age}; the table has {has}."
        case _:
            age = settings.orphan_retention
            return f"Would delete files older than {age} that no snapshot uses."


def describe(operation: Operation, before: Counts, after: Counts) -> str:
    """A summary of an operation that completed."""
    match operation:
        case Operation.REWRITE_DATA_FILES:
            return _change("file", before.files, after.files, "No files to compact")
        case Operation.EXPIRE_SNAPSHOTS:
            return _change("snapshot", before.snapshots, after.snapshots, "No snapshots to expire")
        case _:
            # Orphans are in no count, and Trino does not say how many there were.
            return f"Orphan files removed, if any; the table uses {_number('file', after.files)}."


def error_sentence(error: Exception) -> str:
    """What went wrong, on one line, with Trino's query id where there is one."""
    message = " ".join(str(getattr(error, "message", None) or error).split())
    message = message or type(error).__name__
    query = getattr(error, "query_id", None)
    return message[:LONGEST_SENTENCE] + (f" (query {query})" if query else "")


def was_refused(error: Exception) -> bool:
    """Whether a commit was certainly not made, because another writer was faster."""
    return "Commit failed: Requirement failed" in str(getattr(error, "message", None) or error)


def _change(noun: str, before: int | None, after: int | None, unchanged: str) -> str:
    if before is None or after is None:
        return f"Done; the {noun}s could not be counted."
    if before == after:
        return f"{unchanged}: {_number(noun, after)} as before."
    return f"{_number(noun, before)} became {after}."


def _number(noun: str, count: int | None) -> str:
    if count is None:
        return f"an unknown number of {noun}s"
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

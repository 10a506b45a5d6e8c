"""What writers did to a table between two surveys of it, as far as a rewrite must know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from neve.model.facts import DataFileFacts, TableFacts
from neve.model.groups import FileGroup
from neve.planning.deletes import DeleteIndex


def changed_files(then: TableFacts, now: TableFacts, paths: Collection[str]) -> set[str]:
    """Of the paths, those that are gone, listed otherwise, or have other deletes."""
    live = same_entries(then, now)
    old, new = Counter(then.delete_files), Counter(now.delete_files)
    index = DeleteIndex(((old - new) + (new - old)).elements(), {**then.specs, **now.specs})
    return {
        path for path in paths if path not in live or index.applying_to(live[path]).delete_files
    }


def same_entries(then: TableFacts, now: TableFacts) -> dict[str, DataFileFacts]:
    """Data files whose entries are those of before, by path.

    A path may be taken out and added again, with another age and without its deletes, or be added
    a second time. Iceberg removes whatever has the path.
    """
    if got_row_ids(then, now):
        return {}
    before, after = (Counter(map(_entry, facts.data_files)) for facts in (then, now))
    listed = Counter(file.path for file in now.data_files)
    return {
        file.path: file
        for file in now.data_files
        if listed[file.path] == 1 and before[_entry(file)] == after[_entry(file)] == 1
    }


def got_row_ids(then: TableFacts, now: TableFacts) -> bool:
    """Whether rows that had no ids have some now: the first commit of format 3 gives them out.

    Files that were written without them would get others.
    """
    before, after = (facts.snapshot(facts.snapshot_id) for facts in (then, now))
    had_none = before is not None and before.first_row_id is None
    return had_none and after is not None and after.first_row_id is not None


def _entry(file: DataFileFacts) -> tuple[object, ...]:
    return (
        file.path,
        file.partition,
        file.size_bytes,
        file.record_count,
        file.data_sequence_number,
        file.added_snapshot_id,
    )


def newest_sequence_number(facts: TableFacts) -> int:
    """Whatever is committed after the survey has a greater one."""
    numbers = [file.data_sequence_number for file in facts.data_files]
    numbers += [file.data_sequence_number for file in facts.delete_files]
    return max(numbers, default=0)


def newly_deleted_from(facts: TableFacts, since_sequence_number: int) -> set[str]:
    """Data files to which deletes apply that are newer than the sequence number."""
    fresh = [d for d in facts.delete_files if d.data_sequence_number > since_sequence_number]
    if not fresh:
        return set()
    index = DeleteIndex(fresh, dict(facts.specs))
    return {file.path for file in facts.data_files if index.applying_to(file).delete_files}


def paths_of(group: FileGroup) -> tuple[str, ...]:
    return tuple(file.path for file in group.files)

"""What writers did to a table between two surveys of it, as far as a rewrite must know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from neve.model.facts import TableFacts
from neve.model.groups import FileGroup
from neve.planning.deletes import DeleteIndex


def changed_files(then: TableFacts, now: TableFacts, paths: Collection[str]) -> set[str]:
    """Of the paths, those that are gone or have other deletes."""
    live = {file.path: file for file in now.data_files}
    old, new = Counter(then.delete_files), Counter(now.delete_files)
    index = DeleteIndex(((old - new) + (new - old)).elements(), {**then.specs, **now.specs})
    return {
        path for path in paths if path not in live or index.applying_to(live[path]).delete_files
    }


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

"""Hold what upkeep committed against what was there: no row may change, and no data file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from neve.model.facts import DataFileFacts, DeleteFileFacts, SnapshotFacts, TableFacts
from neve.model.operation import Operation
from neve.model.table import TableRef
from neve.planning.deletes import DeleteIndex
from neve.service.services import Services

#: Compares a snapshot with the one that it was made on, and says what is wrong, if anything is.
Check = Callable[[Services, TableFacts, TableFacts], str | None]


def same_files(services: Services, before: TableFacts, after: TableFacts) -> str | None:
    """Every live file is listed as it was: path, partition, sequence number, size, records."""
    return _changed("data", before.data_files, after.data_files) or _changed(
        "delete", before.delete_files, after.delete_files
    )


def same_rows(services: Services, before: TableFacts, after: TableFacts) -> str | None:
    """The data files are those that were there, and each has the live rows that it had."""
    if problem := _changed("data", before.data_files, after.data_files):
        return problem
    return same_positions(services, before, after, files_with_other_deletes(before, after))


def same_positions(
    services: Services, before: TableFacts, after: TableFacts, paths: Sequence[str]
) -> str | None:
    """Each of the files has the live rows that it had, told by their positions."""
    if not paths:
        return None
    assert before.snapshot_id is not None
    assert after.snapshot_id is not None
    live = services.engine.live_positions
    then = live(before.table, before.snapshot_id, paths)
    now = live(after.table, after.snapshot_id, paths)
    for path in paths:
        if then[path] != now[path]:
            (had, _), (has, _) = then[path], now[path]
            others = ", but others" if had == has else ""
            return f"Data file {path} had {had} live rows and now has {has}{others}."
    return None


def files_with_other_deletes(before: TableFacts, after: TableFacts) -> list[str]:
    """Data files to which a delete file applies that came or went."""
    old, new = Counter(before.delete_files), Counter(after.delete_files)
    index = DeleteIndex(((old - new) + (new - old)).elements(), dict(before.specs))
    return [f.path for f in before.data_files if index.applying_to(f).delete_files]


def _changed(
    what: str,
    before: Iterable[DataFileFacts | DeleteFileFacts],
    after: Iterable[DataFileFacts | DeleteFileFacts],
) -> str | None:
    old, new = Counter(before), Counter(after)
    if lost := old - new:
        return f"The {what} file {next(iter(lost)).path} is gone or listed otherwise."
    if added := new - old:
        return f"The {what} file {next(iter(added)).path} was not there before."
    return None


CHECKS: Mapping[Operation, Check] = {
    Operation.REWRITE_MANIFESTS: same_files,
    Operation.REWRITE_POSITION_DELETE_FILES: same_rows,
    Operation.REMOVE_DANGLING_DELETES: same_rows,
}


def check_commits(
    services: Services,
    table: TableRef,
    operation: Operation,
    snapshots: Sequence[SnapshotFacts],
    known: Sequence[TableFacts] = (),
) -> str | None:
    """Check each snapshot against its parent: between two of them, writers may have committed."""
    if orphan := without_parent(snapshots):
        return orphan
    seen = {facts.snapshot_id: facts for facts in known}
    for snapshot in snapshots:
        before = seen.get(snapshot.parent_id) or services.surveyor.survey(
            table, snapshot_id=snapshot.parent_id
        )
        after = services.surveyor.survey(table, snapshot_id=snapshot.snapshot_id)
        if problem := CHECKS[operation](services, before, after):
            return problem
    return None


def without_parent(snapshots: Iterable[SnapshotFacts]) -> str | None:
    """Which snapshot has nothing that it could be held against: a survey would show itself."""
    for snapshot in snapshots:
        if snapshot.parent_id is None:
            return f"Snapshot {snapshot.snapshot_id} names no parent that it could be compared to."
    return None

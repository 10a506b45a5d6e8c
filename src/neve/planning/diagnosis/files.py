"""Live files, judged against each other: listed twice, deletes that act on nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from neve.model.diagnosis import IntegrityFinding, Severity
from neve.model.facts import PartitionKey
from neve.model.integrity import FileKind, LiveFile, SnapshotRecord, TableIntegrity
from neve.planning.deletes import scope
from neve.planning.diagnosis.findings import found, heads
from neve.planning.diagnosis.statements import rewrite_position_deletes

#: Files of branches and tags beyond these are not compared with each other: it takes long.
MAX_COMPARED_HEADS = 20


def judge_files(facts: TableIntegrity) -> Iterator[IntegrityFinding]:
    """Findings about what the current snapshot, branches and tags list."""
    twice: list[str] = []
    deletes_twice: list[str] = []
    vectors_twice: list[str] = []
    dangling: list[str] = []
    everywhere: list[str] = []
    for snapshot in heads(facts)[:MAX_COMPARED_HEADS]:
        files = facts.files_of(snapshot)
        where = f"snapshot {snapshot.snapshot_id}: "
        twice += [where + path for path in _listed_twice(files, is_delete=False)]
        deletes_twice += [where + path for path in _listed_twice(files, is_delete=True)]
        vectors_twice += [where + path for path in _two_vectors(files)]
        if _is_read_whole(facts, snapshot):
            dangling += [where + text for text in _dangling(facts, files)]
        everywhere += [where + file.path for file in files if _is_global(facts, file)]
    yield from found(
        "data_file_twice",
        Severity.ERROR,
        "Data files are listed more than once, so their rows are read more than once.",
        twice,
        "Find the commit that added them again, and go back before it: "
        f"neve rollback {facts.table.typed} --to-snapshot ID",
    )
    yield from found(
        "two_deletion_vectors",
        Severity.ERROR,
        "Data files have more than one deletion vector; readers refuse them or choose one.",
        vectors_twice,
        "Go back to a snapshot with one each, or rewrite those data files.",
    )
    yield from found(
        "delete_file_twice",
        Severity.WARNING,
        "Delete files are listed more than once; rows are right, reading costs more.",
        deletes_twice,
        rewrite_position_deletes(facts.table),
    )
    yield from found(
        "dangling_deletes",
        Severity.WARNING,
        "Delete files or deletion vectors act on no live file; readers open them for nothing.",
        dangling,
        rewrite_position_deletes(facts.table),
    )
    yield from found(
        "global_equality_deletes",
        Severity.INFORMATION,
        "Equality deletes without a partition: every reader of an older file applies them.",
        everywhere,
        f"neve compact {facts.table.typed} --strategy delete_files applies them.",
    )


def _is_read_whole(facts: TableIntegrity, snapshot: SnapshotRecord) -> bool:
    """With a manifest missing, deletes of its files would look as if they dangled."""
    read = (facts.manifests.get(line) for line in snapshot.manifests)
    return not snapshot.problem and all(found and not found.problem for found in read)


def _listed_twice(files: Sequence[LiveFile], *, is_delete: bool) -> list[str]:
    # Deletion vectors of many data files share one Puffin file.
    counts = Counter(
        (file.path, file.content_offset) for file in files if file.kind.is_delete == is_delete
    )
    return [f"{path} ({count} times)" for (path, _), count in counts.items() if count > 1]


def _two_vectors(files: Sequence[LiveFile]) -> list[str]:
    vectors: defaultdict[str, set[tuple[str, int | None]]] = defaultdict(set)
    for file in files:
        if file.kind is FileKind.DELETION_VECTOR and file.referenced_path:
            vectors[file.referenced_path].add((file.path, file.content_offset))
    return [
        f"{path}: {', '.join(f'{name} at {offset}' for name, offset in sorted(places, key=str))}"
        for path, places in vectors.items()
        if len(places) > 1
    ]


def _is_global(facts: TableIntegrity, file: LiveFile) -> bool:
    return file.kind is FileKind.EQUALITY_DELETES and not facts.specs.get(file.partition[0], True)


def _dangling(facts: TableIntegrity, files: Sequence[LiveFile]) -> Iterator[str]:
    """Position deletes act on files as old as themselves, equality deletes on older ones."""
    by_path: dict[str, int] = {}
    oldest: dict[PartitionKey, int] = {}
    for file in files:
        if file.kind is FileKind.DATA:
            by_path[file.path] = min(
                file.sequence_number, by_path.get(file.path, file.sequence_number)
            )
            partition = scope(file.partition)
            least = oldest.get(partition, file.sequence_number)
            oldest[partition] = min(file.sequence_number, least)
    oldest_of_all = min(oldest.values(), default=None)
    for file in files:
        if not file.kind.is_delete:
            continue
        if file.referenced_path is not None:
            acts_on = by_path.get(file.referenced_path)
        elif _is_global(facts, file):
            acts_on = oldest_of_all
        else:
            acts_on = oldest.get(scope(file.partition))
        reach = file.sequence_number - (file.kind is FileKind.EQUALITY_DELETES)
        if acts_on is None or acts_on > reach:
            about = f" of {file.referenced_path}" if file.referenced_path else ""
            yield f"{file.kind} {file.path}{about}"

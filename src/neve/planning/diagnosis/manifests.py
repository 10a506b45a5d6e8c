"""Manifests, judged against the lists that name them and the totals that snapshots claim."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from neve.model.diagnosis import IntegrityFinding, Severity
from neve.model.integrity import (
    FileKind,
    ManifestContents,
    ManifestLine,
    SnapshotRecord,
    TableIntegrity,
)
from neve.planning.diagnosis.findings import found
from neve.planning.diagnosis.statements import sql_text
from neve.planning.sql_names import sql_name

FILE_COUNTS = ("added_files", "existing_files", "deleted_files")
ROW_COUNTS = ("added_rows", "existing_rows", "deleted_rows")
MAX_NAMED_SNAPSHOTS = 5


def judge_manifests(facts: TableIntegrity) -> Iterator[IntegrityFinding]:
    read = [(line, found) for line, found in facts.manifests.items() if not found.problem]
    yield from _unreadable(facts)
    yield from _counts(facts, read)
    yield from _numbers(facts, read)
    yield from _contents(facts, read)
    yield from _totals(facts)


def _unreadable(facts: TableIntegrity) -> Iterator[IntegrityFinding]:
    broken = {line: found.problem for line, found in facts.manifests.items() if found.problem}
    users: dict[ManifestLine, list[int]] = {line: [] for line in broken}
    for snapshot in facts.snapshots:
        for line in snapshot.manifests:
            if line in users:
                users[line].append(snapshot.snapshot_id)
    yield from found(
        "manifest_unreadable",
        Severity.ERROR,
        "Manifests cannot be read; neither can the snapshots that use them.",
        [
            f"{line.path}: {problem} (snapshots {_listed(users[line])})"
            for line, problem in broken.items()
        ],
        "Bring the files back from a backup or from the storage's own versions, or go back to a "
        "snapshot that does not use them.",
    )


def _listed(ids: list[int]) -> str:
    more = len(ids) - MAX_NAMED_SNAPSHOTS
    return ", ".join(map(str, ids[:MAX_NAMED_SNAPSHOTS])) + (
        f" and {more} more" if more > 0 else ""
    )


Read = list[tuple[ManifestLine, ManifestContents]]


def _counts(facts: TableIntegrity, read: Read) -> Iterator[IntegrityFinding]:
    table = facts.table
    again = (
        f"Write the manifests again: CALL {sql_name(table.catalog)}.system.rewrite_manifests("
        f"table => {sql_text(sql_name(*table.namespace, table.name))})"
    )
    yield from found(
        "manifest_file_counts",
        Severity.ERROR,
        "Manifest lists claim other numbers of files than their manifests hold; "
        "readers skip a manifest that is said to be empty.",
        [text for line, contents in read for text in _differences(line, contents, FILE_COUNTS)],
        "Do not write to the table; go back to a snapshot whose lists are right.",
    )
    yield from found(
        "manifest_row_counts",
        # Row ids of version 3 are handed out by these counts.
        Severity.ERROR if facts.format_version >= 3 else Severity.WARNING,
        "Manifest lists claim other numbers of rows than their manifests hold.",
        [text for line, contents in read for text in _differences(line, contents, ROW_COUNTS)],
        again,
    )


def _differences(
    line: ManifestLine, contents: ManifestContents, names: tuple[str, ...]
) -> Iterator[str]:
    for name in names:
        claimed, held = getattr(line, name), getattr(contents, name)
        if claimed is not None and claimed != held:
            said = name.replace("_", " ")
            yield f"{line.path}: the list says {claimed} {said}, the manifest holds {held}"


def _numbers(facts: TableIntegrity, read: Read) -> Iterator[IntegrityFinding]:
    if facts.format_version < 2:
        return
    wrong: list[str] = []
    for line, contents in read:
        numbers = [file.sequence_number for file in contents.files]
        if numbers and min(numbers) < line.min_sequence_number:
            wrong.append(
                f"{line.path}: the list says that {line.min_sequence_number} is its least, "
                f"a file has {min(numbers)}"
            )
        if numbers and max(numbers) > line.sequence_number:
            wrong.append(f"{line.path}: it has {line.sequence_number}, a file has {max(numbers)}")
    yield from found(
        "entry_sequence_numbers",
        Severity.ERROR,
        "Files have sequence numbers outside those of their manifest, so deletes may act on the "
        "wrong files, or be dropped while they are needed.",
        wrong,
        "Do not write to the table; go back to a snapshot that does not use these manifests.",
    )


def _contents(facts: TableIntegrity, read: Read) -> Iterator[IntegrityFinding]:
    strange: list[str] = []
    for line, contents in read:
        if line.spec_id not in facts.specs:
            strange.append(f"{line.path}: the table has no partition spec {line.spec_id}")
        kind = "deletes" if line.holds_deletes else "data"
        strange += [
            f"{line.path}: a manifest of {kind} lists the {file.kind} {file.path}"
            for file in contents.files
            if file.kind.is_delete != line.holds_deletes
        ]
        strange += [
            f"{file.path}: {file.record_count} rows in {file.size_bytes} bytes"
            for file in contents.files
            if file.record_count < 0 or file.size_bytes < 0
        ]
    yield from found(
        "manifest_nonsense",
        Severity.ERROR,
        "Manifests hold what they cannot hold.",
        strange,
        "Go back to a snapshot that does not use these manifests.",
    )


def _totals(facts: TableIntegrity) -> Iterator[IntegrityFinding]:
    tallies = {line: _tally(found) for line, found in facts.manifests.items() if not found.problem}
    wrong: list[str] = []
    for snapshot in facts.snapshots:
        if snapshot.problem or any(line not in tallies for line in snapshot.manifests):
            continue
        held: Counter[str] = Counter()
        for line in snapshot.manifests:
            held.update(tallies[line])
        wrong += _wrong_totals(snapshot, held)
    yield from found(
        "snapshot_totals",
        Severity.WARNING,
        "Snapshot summaries claim other totals than their manifests hold; "
        "tools that only read summaries are misled.",
        wrong,
        "Nothing is lost by it. A writer that counts again corrects it; Iceberg's carry it on.",
    )


def _tally(contents: ManifestContents) -> dict[str, int]:
    held = dict.fromkeys(TOTALS, 0)
    for file in contents.files:
        if file.kind is FileKind.DATA:
            held["total-data-files"] += 1
            held["total-records"] += file.record_count
            continue
        held["total-delete-files"] += 1
        is_equality = file.kind is FileKind.EQUALITY_DELETES
        held["total-equality-deletes" if is_equality else "total-position-deletes"] += (
            file.record_count
        )
    return held


#: Writers differ in how they count the bytes of deletion vectors, so sizes are not compared.
TOTALS = (
    "total-data-files",
    "total-records",
    "total-delete-files",
    "total-position-deletes",
    "total-equality-deletes",
)


def _wrong_totals(snapshot: SnapshotRecord, held: Counter[str]) -> Iterator[str]:
    for name in TOTALS:
        claimed = snapshot.summary.get(name)
        if claimed is not None and claimed != str(held[name]):
            where = f"snapshot {snapshot.snapshot_id}"
            yield f"{where}: {name} is {claimed}, manifests hold {held[name]}"

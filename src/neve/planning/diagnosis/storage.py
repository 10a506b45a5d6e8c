"""Listed files, judged against what storage holds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from neve.model.diagnosis import IntegrityFinding, Severity
from neve.model.integrity import (
    ENCRYPTED,
    FileClaim,
    FileKind,
    FooterReport,
    LiveFile,
    Stored,
    TableIntegrity,
)
from neve.planning.diagnosis.findings import found, heads, newest_whole

#: Without Spark, this many files are looked up; each takes one request.
MAX_LOOKED_UP = 5_000


@dataclass(frozen=True, slots=True)
class ExpectedFile:
    """One file that must be in storage."""

    path: str
    kind: FileKind
    size_bytes: int
    #: False for files that only older snapshots need.
    is_live: bool
    claims: tuple[FileClaim, ...]


def expected_files(facts: TableIntegrity) -> list[ExpectedFile]:
    """Every file that a kept snapshot lists, once, live ones first."""
    live_manifests = {line for snapshot in heads(facts) for line in snapshot.manifests}
    live: set[str] = set()
    listed: dict[str, list[LiveFile]] = {}
    for line, contents in facts.manifests.items():
        for file in contents.files:
            listed.setdefault(file.path, []).append(file)
        if line in live_manifests:
            live.update(file.path for file in contents.files)
    expected = [
        ExpectedFile(
            path=path,
            kind=files[0].kind,
            size_bytes=files[0].size_bytes,
            is_live=path in live,
            claims=tuple(dict.fromkeys(_claim(file) for file in files)),
        )
        for path, files in listed.items()
    ]
    return sorted(expected, key=lambda file: not file.is_live)


def _claim(file: LiveFile) -> FileClaim:
    return FileClaim(
        path=file.path,
        kind=file.kind,
        format=ENCRYPTED if file.encrypted else file.format,
        size_bytes=file.size_bytes,
        record_count=file.record_count,
        content_offset=file.content_offset,
        content_bytes=file.content_bytes,
    )


def chosen(files: Sequence[ExpectedFile], at_most: int | None) -> list[ExpectedFile]:
    """All files, or as many as wanted, evenly spread."""
    if at_most is None or len(files) <= at_most:
        return list(files)
    return [files[number * len(files) // at_most] for number in range(at_most)]


def judge_storage(
    facts: TableIntegrity, files: Sequence[ExpectedFile], stored: Mapping[str, Stored]
) -> Iterator[IntegrityFinding]:
    """Findings about files that were looked up."""
    missing = [file for file in files if stored[file.path].is_missing]
    yield from _missing(facts, missing)
    yield from found(
        "size_differs",
        Severity.ERROR,
        "Files have another size in storage than in their manifest: cut short, or replaced.",
        [
            f"{file.path}: {size} bytes in storage, {claim.size_bytes} in the manifest"
            for file in files
            if (size := stored[file.path].size_bytes) is not None
            for claim in file.claims
            # Writers differ in whether they count the bytes that encryption adds.
            if claim.size_bytes != size and claim.format != ENCRYPTED
        ],
        "Bring the right files back from a backup or from the storage's own versions; "
        f"neve doctor {facts.table.typed} --deep says which of them can be read.",
    )
    yield from _unanswered({path: at.problem for path, at in stored.items() if at.problem})


def _missing(
    facts: TableIntegrity, missing: Collection[ExpectedFile], *, are_all: bool = True
) -> Iterator[IntegrityFinding]:
    restore = "Bring the files back from a backup or from the storage's own versions."
    whole = newest_whole(facts, {file.path for file in missing}) if are_all else None
    back = (
        f" If they are lost, snapshot {whole.snapshot_id} is the newest in which no missing file "
        "was found; rows written since are then not in the table: "
        f"neve rollback {facts.table.typed} --to-snapshot {whole.snapshot_id}"
        if whole
        else ""
    )
    live = [file for file in missing if file.is_live]
    for code, sentence, are_deletes in (
        ("data_file_missing", "Data files are missing from storage, so reading them fails.", False),
        (
            "delete_file_missing",
            "Delete files are missing from storage, so reading the files they act on fails.",
            True,
        ),
    ):
        yield from found(
            code,
            Severity.ERROR,
            sentence,
            [f"{file.kind} {file.path}" for file in live if file.kind.is_delete == are_deletes],
            restore + back,
        )
    yield from found(
        "old_file_missing",
        Severity.WARNING,
        "Files of older snapshots are missing from storage, so travelling there fails.",
        [f"{file.kind} {file.path}" for file in missing if not file.is_live],
        f"{restore} If nobody travels there, let those snapshots go: "
        f"neve expire {facts.table.typed} --older-than 7d --apply",
    )


def _unanswered(problems: Mapping[str, str | None]) -> Iterator[IntegrityFinding]:
    yield from found(
        "storage_unanswered",
        Severity.ERROR,
        "Storage gave no answer about some files, so nothing is known about them.",
        [f"{path}: {problem}" for path, problem in problems.items()],
        "Check the credentials and the address of the storage, then run neve doctor again.",
    )


def judge_statistics(
    facts: TableIntegrity, stored: Mapping[str, Stored]
) -> Iterator[IntegrityFinding]:
    """Statistics are informative: a table without them is sound."""
    files = [item for item in facts.statistics if item.path in stored]
    yield from found(
        "statistics_missing",
        Severity.WARNING,
        "Statistics files are registered and missing from storage; engines that use them fail.",
        [
            f"snapshot {item.snapshot_id}: {item.path}"
            for item in files
            if stored[item.path].is_missing
        ],
        f"Compute them again: neve stats {facts.table.typed}; or let the snapshots go: "
        f"neve expire {facts.table.typed} --older-than 7d --apply",
    )
    yield from found(
        "statistics_size_differs",
        Severity.WARNING,
        "Statistics files have another size in storage than in the metadata.",
        [
            f"{item.path}: {size} bytes in storage, {item.size_bytes} in the metadata"
            for item in files
            if (size := stored[item.path].size_bytes) is not None and size != item.size_bytes
        ],
        f"Compute them again: neve stats {facts.table.typed}",
    )


#: Findings of tasks that open files: severity, sentence, next step.
OPENED = {
    "size_differs": (
        Severity.ERROR,
        "Files have another size in storage than in their manifest: cut short, or replaced.",
        "Bring the right files back from a backup or from the storage's own versions.",
    ),
    "footer_unreadable": (
        Severity.ERROR,
        "Parquet footers cannot be read, so neither can the files.",
        "Bring the right files back from a backup or from the storage's own versions.",
    ),
    "record_count_differs": (
        Severity.ERROR,
        "Files hold another number of rows than their manifest says.",
        "Bring the right files back; if the files are right, rewrite them: their counts are "
        "written again.",
    ),
    "vector_unreadable": (
        Severity.ERROR,
        "Deletion vectors cannot be read, so neither can the files they act on.",
        "Bring the right files back from a backup or from the storage's own versions.",
    ),
    "field_ids_missing": (
        Severity.ERROR,
        "Columns of data files have no field id, and the table has no name mapping: "
        "readers take them for missing and give nulls.",
        "Set the table property schema.name-mapping.default.",
    ),
    "field_ids_unknown": (
        Severity.WARNING,
        "Data files have columns with field ids that no schema of the table has.",
        "Check whether these files were written for this table.",
    ),
    "storage_unanswered": (
        Severity.ERROR,
        "Storage gave no answer about some files, so nothing is known about them.",
        "Check the credentials and the address of the storage, then run neve doctor again.",
    ),
}
MISSING = "missing"


def judge_footers(
    facts: TableIntegrity, files: Sequence[ExpectedFile], report: FooterReport
) -> Iterator[IntegrityFinding]:
    """Findings about files that were opened."""
    gone = {problem.path for problem in report.problems if problem.code == MISSING}
    missing = [file for file in files if file.path in gone]
    yield from _missing(facts, missing, are_all=report.counts.get(MISSING, 0) == len(missing))
    for code, (severity, sentence, next_step) in OPENED.items():
        yield from found(
            code,
            severity,
            sentence,
            [f"{t.path}: {t.sentence}" for t in report.problems if t.code == code],
            next_step,
            count=report.counts.get(code, 0),
        )

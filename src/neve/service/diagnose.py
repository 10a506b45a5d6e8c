"""Diagnose one table: read it as far as it can be read, judge, say what was not looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from neve.model.diagnosis import Coverage, Diagnosis, IntegrityFinding, Recovery, Severity
from neve.model.errors import NeveError
from neve.model.integrity import (
    FooterReport,
    KnownColumns,
    MetadataProblem,
    Stored,
    TableIntegrity,
)
from neve.model.table import TableRef
from neve.planning.diagnosis.files import MAX_COMPARED_HEADS, judge_files
from neve.planning.diagnosis.findings import found, heads, worst_first
from neve.planning.diagnosis.manifests import judge_manifests
from neve.planning.diagnosis.metadata import judge_metadata
from neve.planning.diagnosis.recovery import plan_recovery
from neve.planning.diagnosis.storage import (
    MAX_LOOKED_UP,
    ExpectedFile,
    chosen,
    expected_files,
    judge_footers,
    judge_statistics,
    judge_storage,
)
from neve.service.ports import FileOpener, Inspector, Reporter

#: Findings that another metadata file may cure.
NEEDS_OTHER_METADATA = frozenset(
    (
        "metadata_missing",
        "current_snapshot_unreadable",
        "ref_to_unknown_snapshot",
        "main_is_not_current",
        "snapshot_id_twice",
    )
)


@dataclass(frozen=True, slots=True)
class Examination:
    """How far a diagnosis goes."""

    #: Open every file, on Spark.
    deep: bool = False
    #: Look at this many files only.
    sample: int | None = None
    #: Where metadata files lie, for catalogs that cannot say it.
    metadata_folder: str | None = None


def diagnose(
    inspector: Inspector,
    make_opener: Callable[[], FileOpener],
    table: TableRef,
    how: Examination,
    reporter: Reporter,
) -> Diagnosis:
    """Everything that is wrong with the table, worst first. Nothing is changed."""
    facts = inspector.integrity(table)
    if isinstance(facts, MetadataProblem):
        return _without_metadata(inspector, facts, how)
    findings = [*judge_metadata(facts), *judge_manifests(facts), *judge_files(facts)]
    findings += _judge_beside(inspector, facts)
    expected = expected_files(facts)
    looked, opened = _Looked(), FooterReport()
    if how.deep:
        looked, opened = _open(make_opener, facts, expected, how, reporter)
    if not opened.opened:
        # Files that no task could judge are at least looked up.
        looked = looked + _look_up(inspector, facts, expected, how, reporter)
    findings += looked.findings
    recovery = None
    if any(finding.code in NEEDS_OTHER_METADATA for finding in findings):
        problem = MetadataProblem(table, "", facts.metadata_location)
        recovery = _recovery(inspector, problem, how)
    coverage = Coverage(
        metadata_location=facts.metadata_location,
        snapshots=len(facts.snapshots),
        manifests=len(facts.manifests),
        listed_files=len(expected),
        files_in_storage=looked.files,
        opened_files=opened.opened,
        not_checked=(*_left_out(facts), *looked.left_out),
    )
    return Diagnosis(table, worst_first(findings), coverage, recovery)


@dataclass(frozen=True, slots=True)
class _Looked:
    """What came of looking at files, and what was left out."""

    findings: tuple[IntegrityFinding, ...] = ()
    files: int = 0
    left_out: tuple[str, ...] = ()

    def __add__(self, other: _Looked) -> _Looked:
        files = max(self.files, other.files)
        left_out = tuple(dict.fromkeys(self.left_out + other.left_out))
        return _Looked(self.findings + other.findings, files, left_out)


def _without_metadata(
    inspector: Inspector, problem: MetadataProblem, how: Examination
) -> Diagnosis:
    recovery = _recovery(inspector, problem, how)
    place = problem.location or f"catalog {problem.table.catalog}"
    findings = found(
        "metadata_unreadable",
        Severity.ERROR,
        "The current metadata of the table cannot be read, so the table cannot be read.",
        [f"{place}: {problem.sentence}"],
        "Follow the way back below." if recovery.recommended else " ".join(recovery.advice),
    )
    left_out = ("Nothing but the metadata folder was looked at.",)
    coverage = Coverage(problem.location, not_checked=left_out)
    return Diagnosis(problem.table, tuple(findings), coverage, recovery)


def _recovery(inspector: Inspector, problem: MetadataProblem, how: Examination) -> Recovery:
    history = inspector.history(problem, how.metadata_folder)
    return plan_recovery(problem.table, history, inspector.settings(problem.table))


def _judge_beside(inspector: Inspector, facts: TableIntegrity) -> list[IntegrityFinding]:
    """The metadata file itself, which a catalog may serve from memory, and statistics files."""
    paths = [item.path for item in facts.statistics][:MAX_LOOKED_UP]
    stored = inspector.stored(facts.table, [facts.metadata_location, *dict.fromkeys(paths)])
    missing = stored[facts.metadata_location].is_missing
    return [
        *found(
            "metadata_missing",
            Severity.ERROR,
            "The current metadata file is not in storage; the catalog answers from memory.",
            [facts.metadata_location] if missing else [],
            "Follow the way back below before the catalog is restarted.",
        ),
        *judge_statistics(facts, stored),
    ]


def _look_up(
    inspector: Inspector,
    facts: TableIntegrity,
    expected: Sequence[ExpectedFile],
    how: Examination,
    reporter: Reporter,
) -> _Looked:
    files = chosen(expected, min(how.sample or MAX_LOOKED_UP, MAX_LOOKED_UP))
    reporter(f"Looking up {len(files)} files …")
    stored: dict[str, Stored] = dict(inspector.stored(facts.table, [file.path for file in files]))
    left_out = [] if how.deep or not expected else ["No data file was opened: --deep does."]
    if len(files) < len(expected):
        left_out.append(
            f"{len(expected) - len(files)} of {len(expected)} files were not looked up: "
            "--deep looks at all of them, on Spark."
        )
    return _Looked(tuple(judge_storage(facts, files, stored)), len(files), tuple(left_out))


def _open(
    make_opener: Callable[[], FileOpener],
    facts: TableIntegrity,
    expected: Sequence[ExpectedFile],
    how: Examination,
    reporter: Reporter,
) -> tuple[_Looked, FooterReport]:
    files = chosen(expected, how.sample)
    claims = [claim for file in files for claim in file.claims]
    columns = KnownColumns(facts.field_ids, facts.has_name_mapping)
    try:
        report = (
            make_opener().open_files(facts.table, claims, columns, reporter) if claims else None
        )
    except NeveError as error:
        failed = found(
            "files_not_opened",
            Severity.ERROR,
            "Files could not be opened, so nothing is known about their contents.",
            [error.message],
            error.next_step or "Run neve doctor without a table: it checks this machine.",
        )
        return _Looked(tuple(failed), 0, ("No file was opened.",)), FooterReport()
    report = report or FooterReport()
    left_out = [f"{count} files: {reason}." for reason, count in report.unopened.items()]
    if len(files) < len(expected):
        left_out.append(
            f"{len(expected) - len(files)} of {len(expected)} files are not in the sample."
        )
    findings = tuple(judge_footers(facts, files, report))
    return _Looked(findings, len(files) if report.opened else 0, tuple(left_out)), report


def _left_out(facts: TableIntegrity) -> list[str]:
    left_out: list[str] = []
    if facts.unread_manifests:
        left_out.append(
            f"{facts.unread_manifests} manifests, mostly of older snapshots, were not read: "
            "those before them list enough files."
        )
    if (others := len(heads(facts)) - MAX_COMPARED_HEADS) > 0:
        left_out.append(f"Files of {others} branches or tags were not compared with each other.")
    return left_out

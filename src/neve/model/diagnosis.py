"""What is wrong with a table's files and metadata, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from neve.model.integrity import MetadataFile
from neve.model.table import TableRef

MAX_EVIDENCE = 10
MAX_EVIDENCE_CHARACTERS = 500


class Severity(StrEnum):
    """An error makes the table unsound; a warning costs something; information is only said."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"


@dataclass(frozen=True, slots=True)
class IntegrityFinding:
    """One kind of damage: how often it was found, where, and what to do."""

    code: str
    severity: Severity
    sentence: str
    count: int
    #: The first places where it was found.
    evidence: tuple[str, ...] = ()
    next_step: str | None = None


@dataclass(frozen=True, slots=True)
class Recovery:
    """How to get the table back by hand. Nothing of it was done."""

    #: Metadata files that were found, the most promising first.
    candidates: tuple[MetadataFile, ...]
    #: The one to use, where there is one.
    recommended: str | None
    #: The name under which it is registered first, so that it can be looked at.
    registered_as: str | None
    #: Spark SQL that registers it and looks at its rows.
    statements: tuple[str, ...] = ()
    #: Python that registers it, where the catalog's settings hold no secret.
    python: str | None = None
    #: Python that gives it the table's own name, once the rows are right.
    python_swap: str | None = None
    #: What to know before following them.
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was looked at, and what was not."""

    metadata_location: str | None
    snapshots: int = 0
    manifests: int = 0
    listed_files: int = 0
    files_in_storage: int = 0
    opened_files: int = 0
    #: One sentence for each thing that was left out.
    not_checked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The findings about one table, worst first."""

    table: TableRef
    findings: tuple[IntegrityFinding, ...]
    coverage: Coverage
    recovery: Recovery | None = None

    @property
    def is_sound(self) -> bool:
        return all(finding.severity is not Severity.ERROR for finding in self.findings)

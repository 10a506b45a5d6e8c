"""Every error that Neve raises on purpose, as one tree.

NeveError
├── ConfigError                a setting, a variable or a name in the configuration is wrong
├── EnvironmentProblem         this machine lacks something: Java, jars, a writable folder
├── InputError                 what the user asked for cannot be understood
│   ├── FilterError            a predicate, with the position of the offending token
│   ├── PlanFileError          a plan file that is unreadable, edited by hand or of another version
│   ├── KeyReused              an idempotency key that came with other rows before
│   ├── QueryRefused           a statement that QUERY does not run
│   └── RecordsRefused         rows that do not fit their table, with a sentence for each field
├── AccessError                who asks may not
│   ├── NotAuthenticated       nobody knows who asks
│   ├── AccessDenied           the caller lacks the right
│   ├── TooMuch                more than a limit or quota allows; `retry_after_seconds` says when
│   ├── ApprovalNeeded         a second person must agree first; `approval_id` says to what
│   └── ApprovalGone           an approval that is used, refused or too old
├── CatalogError               the catalog or the storage behind it did not answer as it should
│   ├── TableNotFound
│   ├── TableExists            a table of that name is there already
│   └── TableUnreadable        metadata or manifests are missing or corrupt
│       └── TableDamaged       files that it names are missing, corrupt, or those of others
├── Interrupted                a person or the system told the command to end
├── StoreError                 the state database cannot be read or written
│   └── NotWrittenDown         something was done, and the audit log does not say so
├── NotificationError          a notice did not reach its channel; no job fails for it
├── ServerError                a Neve server did not answer as it should
│   └── ServerRefused          it refused a request; `status` and `kind` tell programs why
├── JobRefused                 the job may not run now
│   ├── PlanStale              the table moved on since the plan was made
│   ├── TableBusy              another job holds the table
│   ├── EngineNeeded           only an engine can tell, and looking starts none
│   ├── LeaseLost              this job lost its claim on the table and must not commit
│   └── JobCancelled           somebody asked the job to stop
├── ExecutionError             the engine failed
│   ├── CommitConflict         a concurrent writer won
│   ├── CommitUnknown          the answer to a commit was lost
│   ├── CompactionFailed       COMPACT could not do what was asked for; the table is as it was
│   ├── QueryLimit             a query takes more than it may
│   ├── EngineDied             the engine's process ended; the table tells how far it came
│   ├── RefLost                a branch or tag may have gone with a snapshot that was removed
│   └── ProofFailed            what was written is not what was there
├── ParquetError               a Parquet file cannot be worked on
│   ├── ParquetCorrupt         its bytes contradict the format
│   └── ParquetUnsupported     it is sound, but not something that is spliced
└── RowsError                  rows cannot be rewritten value by value
    ├── RowsCorrupt            what was read contradicts itself or its format
    └── RowsUnsupported        it is sound, but left to Iceberg's own rewrite

Catch NeveError at an edge (command line, API); catch a leaf where there is something better to do.
A message is one sentence about what is wrong; `next_step` is one about what to do.
"""

from __future__ import annotations

from collections.abc import Sequence

from neve.model.database import FieldTrouble
from neve.model.plain_text import plain_text
from neve.secrets import hide_known_secrets


def _shown(text: str) -> str:
    return plain_text(hide_known_secrets(text))


class NeveError(Exception):
    """Something went wrong that Neve can explain."""

    def __init__(self, message: str | None = None, *, next_step: str | None = None) -> None:
        # What others say about a failure may quote what they were given.
        self.message = _shown(message or (self.__doc__ or type(self).__name__))
        self.next_step = _shown(next_step) if next_step else next_step
        super().__init__(self.message)


class ConfigError(NeveError):
    """The configuration is wrong."""


class EnvironmentProblem(NeveError):
    """This machine lacks something that Neve needs."""


class InputError(NeveError):
    """The request cannot be understood."""


class FilterError(InputError):
    """The filter cannot be understood."""

    def __init__(
        self, message: str, *, position: int | None = None, next_step: str | None = None
    ) -> None:
        self.position = position
        super().__init__(message, next_step=next_step)


class PlanFileError(InputError):
    """The plan file cannot be used."""


class KeyReused(InputError):
    """The idempotency key came with other rows before."""


class QueryRefused(InputError):
    """QUERY does not run this statement."""


class RecordsRefused(InputError):
    """Rows do not fit their table."""

    def __init__(
        self,
        message: str | None = None,
        *,
        troubles: Sequence[FieldTrouble] = (),
        next_step: str | None = None,
    ) -> None:
        self.troubles = tuple(troubles)
        super().__init__(message, next_step=next_step)


class AccessError(NeveError):
    """Who asks may not."""


class NotAuthenticated(AccessError):
    """Nobody knows who asks."""


class AccessDenied(AccessError):
    """The caller lacks the right."""


class TooMuch(AccessError):
    """More was asked for than a limit allows."""

    def __init__(
        self,
        message: str | None = None,
        *,
        next_step: str | None = None,
        retry_after_seconds: int = 1,
    ) -> None:
        self.retry_after_seconds = retry_after_seconds
        super().__init__(message, next_step=next_step)


class ApprovalNeeded(AccessError):
    """A second person must agree first."""

    def __init__(
        self,
        message: str | None = None,
        *,
        next_step: str | None = None,
        approval_id: str | None = None,
    ) -> None:
        self.approval_id = approval_id
        super().__init__(message, next_step=next_step)


class ApprovalGone(AccessError):
    """The approval cannot be used any more."""


class CatalogError(NeveError):
    """The catalog did not answer as it should."""


class TableNotFound(CatalogError):
    """The table does not exist."""

    def __init__(
        self, message: str | None = None, *, next_step: str | None = None, name: str = ""
    ) -> None:
        #: The name that was asked for, where somebody may have mistyped it.
        self.name = name
        super().__init__(message, next_step=next_step)


class TableExists(CatalogError):
    """A table of that name is there already."""


class TableUnreadable(CatalogError):
    """The table's metadata cannot be read."""


class TableDamaged(TableUnreadable):
    """The table's files are not what its metadata says."""


class Interrupted(NeveError):
    """Interrupted; nothing was changed."""


class StoreError(NeveError):
    """The state database cannot be used."""


class NotWrittenDown(StoreError):
    """What was asked for was done, and could not be written into the audit log."""


class NotificationError(NeveError):
    """The notice could not be delivered."""


class ServerError(NeveError):
    """The Neve server did not answer as it should."""


class ServerRefused(ServerError):
    """The Neve server refused the request."""

    def __init__(
        self, message: str, *, status: int, kind: str, next_step: str | None = None
    ) -> None:
        self.status = status
        self.kind = kind
        super().__init__(message, next_step=next_step)


class JobRefused(NeveError):
    """The job may not run now."""


class PlanStale(JobRefused):
    """The table has changed since the plan was made."""


class TableBusy(JobRefused):
    """Another job is working on the table."""


class EngineNeeded(JobRefused):
    """Only an engine can tell, and looking starts none."""


class LeaseLost(JobRefused):
    """The job lost its claim on the table, so it must not commit."""


class JobCancelled(JobRefused):
    """The job was cancelled."""


class ExecutionError(NeveError):
    """The engine failed."""


class CommitConflict(ExecutionError):
    """A concurrent writer changed what the job was rewriting."""


class CommitUnknown(ExecutionError):
    """The answer to the commit was lost; the snapshot log decides."""


class CompactionFailed(ExecutionError):
    """The table was not compacted."""


class QueryLimit(ExecutionError):
    """The query takes more than it may."""


class EngineDied(ExecutionError):
    """The engine's process ended while it worked."""


class RefLost(ExecutionError):
    """A branch or tag may have gone with a snapshot that was removed."""


class ProofFailed(ExecutionError):
    """The rewritten files do not hold the rows that they replace."""


class ParquetError(NeveError):
    """A Parquet file cannot be worked on."""


class ParquetCorrupt(ParquetError):
    """The file's bytes contradict the Parquet format."""


class ParquetUnsupported(ParquetError):
    """The file is sound, but row groups of its kind are not spliced."""


class RowsError(NeveError):
    """Rows cannot be rewritten value by value."""


class RowsCorrupt(RowsError):
    """What was read contradicts itself or its format."""


class RowsUnsupported(RowsError):
    """The rows are sound, but are left to Iceberg's own rewrite."""

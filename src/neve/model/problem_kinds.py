"""Errors as they are told over HTTP: a status and a stable name, for servers and clients."""

from __future__ import annotations

from collections.abc import Mapping

from neve.model import errors

TYPE_PREFIX = "urn:neve:problem:"

#: What a catalog or a table does wrong is no mistake of this server, however hostile it is: 424 for
#: one that does not answer as it should, 422 for one that cannot be read.
#: Status and name of every error of the tree; an error that is not named is like its parent.
KINDS: Mapping[type[errors.NeveError], tuple[int, str]] = {
    errors.NeveError: (500, "error"),
    errors.ConfigError: (500, "configuration"),
    errors.EnvironmentProblem: (503, "environment"),
    errors.InputError: (422, "input"),
    errors.FilterError: (422, "filter"),
    errors.PlanFileError: (422, "plan"),
    errors.AccessError: (403, "access"),
    errors.NotAuthenticated: (401, "not-authenticated"),
    errors.AccessDenied: (403, "access-denied"),
    errors.TooMuch: (429, "too-much"),
    errors.ApprovalNeeded: (409, "approval-needed"),
    errors.ApprovalGone: (409, "approval-gone"),
    errors.KeyReused: (422, "idempotency-key-reused"),
    errors.QueryRefused: (422, "query"),
    errors.RecordsRefused: (422, "records"),
    errors.CatalogError: (424, "catalog"),
    errors.TableNotFound: (404, "table-not-found"),
    errors.TableExists: (409, "table-exists"),
    errors.TableUnreadable: (422, "table-unreadable"),
    errors.TableDamaged: (409, "table-damaged"),
    errors.Interrupted: (503, "interrupted"),
    errors.StoreError: (503, "store"),
    # Not 503: whoever sends it again would have it twice.
    errors.NotWrittenDown: (500, "not-written-down"),
    errors.NotificationError: (502, "notification"),
    errors.ServerError: (502, "server"),
    errors.ServerRefused: (502, "server-refused"),
    errors.JobRefused: (409, "job-refused"),
    errors.PlanStale: (409, "plan-stale"),
    errors.TableBusy: (409, "table-busy"),
    errors.EngineNeeded: (409, "engine-needed"),
    errors.LeaseLost: (409, "lease-lost"),
    errors.JobCancelled: (409, "job-cancelled"),
    errors.ExecutionError: (500, "execution"),
    errors.CommitConflict: (409, "commit-conflict"),
    errors.CommitUnknown: (500, "commit-unknown"),
    errors.CompactionFailed: (409, "compaction-failed"),
    errors.QueryLimit: (422, "query-limit"),
    errors.EngineDied: (500, "engine-died"),
    errors.RefLost: (500, "ref-lost"),
    errors.ProofFailed: (500, "proof-failed"),
    errors.ParquetError: (422, "parquet"),
    errors.ParquetCorrupt: (422, "parquet-corrupt"),
    errors.ParquetUnsupported: (422, "parquet-unsupported"),
    errors.RowsError: (422, "rows"),
    errors.RowsCorrupt: (422, "rows-corrupt"),
    errors.RowsUnsupported: (422, "rows-unsupported"),
}
#: The errors again, by the names that a client reads.
BY_NAME = {name: kind for kind, (_, name) in KINDS.items()}


def kind_of(error: errors.NeveError) -> tuple[int, str]:
    """Status and name of the error, or of the nearest parent that has one."""
    return next(KINDS[kind] for kind in type(error).__mro__ if kind in KINDS)

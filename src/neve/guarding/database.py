"""The database operations as one caller may use them: its tenants', in the namespaces it has."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from typing import NoReturn

from neve.access.asked import rights_for
from neve.access.rights import Right
from neve.database.bodies import (
    Compact,
    CompactAnswer,
    CreateTable,
    CreateTableAnswer,
    Query,
    QueryAnswer,
    Write,
)
from neve.database.compacting import Asker, Compaction
from neve.database.service import Database
from neve.database.writing import Written
from neve.guarding.jobs import GuardedJobs
from neve.model.database import DatabaseRules
from neve.model.errors import AccessDenied
from neve.model.job import JobRequest
from neve.model.operation import Operation
from neve.model.table import TableRef

AnyRequest = CreateTable | Write | Query | Compact


class GuardedDatabases(GuardedJobs):
    """Tables of the tenants that a caller acts for."""

    @property
    def database(self) -> NoReturn:
        """Not for callers: it asks nobody what they may."""
        raise AccessDenied("database is not for callers of a server.")

    @property
    def database_rules(self) -> DatabaseRules:
        return self._whole.database.rules

    def create_table(self, request: CreateTable) -> CreateTableAnswer:
        """Make a table in a namespace that the caller operates."""
        self._place(request, Right.OPERATE)
        return self._database.create_table(request)

    def begin_write(self, request: Write, key: str | None = None) -> Future[Written]:
        """Append to a table that the caller operates; the future has the end of it."""
        self._place(request, Right.OPERATE)
        return self._database.begin_write(request, key)

    def query(self, request: Query) -> QueryAnswer:
        """One SELECT on tables that the caller sees, in whatever namespace it names them."""
        self._place(request, Right.VIEW)
        return self._database.query(request, self.caller.sees)

    def share_of(self, request: Query) -> str:
        """Whose share of the server a query takes: nobody takes that of another tenant."""
        return request.tenant_id if self.caller.all_tenants else self.caller.tenant

    def begin_compact(self, request: Compact) -> Compaction:
        """Queue its jobs, with all that each of them needs."""
        self.check_compact(request)
        begun = self._database.begin_compact(request, self._asker())
        self._notes.job_id = begun.job_ids[0] if begun.job_ids else ""
        return begun

    def compact_here(self, request: Compact) -> CompactAnswer:
        """Compact in this process, where there is no service to ask."""
        self.check_compact(request)
        answer = self._database.compact_here(request, self._asker())
        self._notes.job_id = answer.job_id or ""
        return answer

    def check_compact(self, request: Compact) -> None:
        """Raise for what the caller may not, before anything of the table is read."""
        table = self._place(request, Right.OPERATE)
        if request.expire_snapshots:
            self._allow(table, rights_for(Operation.EXPIRE_SNAPSHOTS, {}))

    def needs_second_person(self, request: Compact) -> bool:
        """Whether somebody else must agree to what the request lets go for good."""
        expires = request.expire_snapshots
        return expires and self._needs_approval(Operation.EXPIRE_SNAPSHOTS, {})

    def compaction(self, begun: Compaction) -> CompactAnswer | None:
        """What came of it; None while its jobs run."""
        return self._database.compaction(begun)

    @property
    def _database(self) -> Database:
        return self._whole.database

    def _place(self, request: AnyRequest, right: Right) -> TableRef:
        """The table that is meant, if the caller has the right on it."""
        self._notes.operation = request.operation
        # The log tells a tenant who acted for it.
        self._notes.tenant = self.acting_tenant(request.tenant_id)
        table = self._database.table_of(request)
        self._notes.table = str(table)
        if isinstance(request, CreateTable):
            self._allow_new(table)
        else:
            self._allow(table, (right,))
        return table

    def _allow_new(self, table: TableRef) -> None:
        """That there is no such table is no news to who wants to make it."""
        if not self.caller.may(Right.OPERATE, table):
            namespace = ".".join(table.namespace)
            raise AccessDenied(
                f"You may not make tables in {table.catalog}.{namespace}.",
                next_step="Ask whoever gives out keys and roles for it.",
            )

    def _asker(self) -> Asker:
        return Asker(self.caller.name, admit=self._admit_jobs)

    def _admit_jobs(self, wanted: Sequence[JobRequest]) -> AbstractContextManager[str]:
        """Jobs of one table and tenant, counted with those that others ask for meanwhile."""
        said = [(job.operation, job.arguments) for job in wanted]
        return self._admitted(wanted[0].table, said, wanted[0].tenant)

"""`Database`: the four operations over the ports of one deployment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from neve.database import compacting
from neve.database.bodies import (
    Compact,
    CompactAnswer,
    CreateTable,
    CreateTableAnswer,
    Query,
    QueryAnswer,
    ResultColumn,
    Write,
    WriteAnswer,
)
from neve.database.compacting import Admit, Asker
from neve.database.creating import new_table
from neve.database.detecting import Detector, Finding, is_due
from neve.database.group_commit import GroupCommit
from neve.database.keys import key_of
from neve.database.names import tenant_of, tenant_table
from neve.database.ports import Queries, Tables
from neve.database.statements import Relation, Statement, read_statement, select_all
from neve.database.writing import BatchWriter, PendingWrite, Written
from neve.lazy import Lazy
from neve.model.database import DatabaseRules
from neve.model.errors import NeveError, QueryLimit, TableExists, TableNotFound
from neve.model.job import Trigger
from neve.model.query import QueryRelation
from neve.model.table import TableRef
from neve.model.write_keys import write_key
from neve.service.ports import Engine
from neve.service.services import Services

#: Tables that are committed to at the same time, and that are counted at the same time.
WRITING_THREADS = 8
COUNTING_THREADS = 2
QUERIES_AT_ONCE = 4
#: Whoever else asks finds one of them free.
QUERIES_OF_A_TENANT = QUERIES_AT_ONCE - 1
#: Programs that hold the configuration are not asked who they are.
ANYBODY = Asker()


class Database:
    """Tables of tenants: made, written, asked, compacted."""

    def __init__(
        self,
        services: Services,
        tables: Tables,
        queries: Callable[[], Queries],
        rules: DatabaseRules,
        catalog: str,
        make_engine: Callable[[], Engine],
        admit_event: Admit = ANYBODY.admit,
    ) -> None:
        self._services, self._tables, self._queries = services, tables, Lazy(queries)
        self._rules, self._catalog, self._make_engine = rules, catalog, make_engine
        self._admit_event = admit_event
        # Each may take as much memory as the limits allow.
        self._querying = threading.BoundedSemaphore(QUERIES_AT_ONCE)
        self._writing = ThreadPoolExecutor(WRITING_THREADS, "neve-write")
        self._counting = ThreadPoolExecutor(COUNTING_THREADS, "neve-count")
        self._detector = Detector(
            services.surveyor.survey, rules, self._counting, services.warn, self._recommended
        )
        self._writer = BatchWriter(tables, services.store, self._committed, services.warn)
        self._group = GroupCommit[TableRef, PendingWrite](self._writer.commit, self._writing)

    @property
    def rules(self) -> DatabaseRules:
        return self._rules

    def close(self) -> None:
        """Let what was accepted be committed, and end."""
        self._writing.shutdown()
        self._counting.shutdown()
        if queries := self._queries.if_made:
            queries.close()

    def table(self, tenant: str, namespace: str, table: str) -> TableRef:
        """The table of the catalog that a tenant means."""
        return tenant_table(self._catalog, tenant, namespace, table)

    def create_table(self, request: CreateTable) -> CreateTableAnswer:
        table = self.table_of(request)
        created = True
        try:
            self._tables.create(table, new_table(request, self._rules.table_properties))
        except TableExists:
            if not request.if_not_exists:
                raise
            created = False
        return CreateTableAnswer(created=created, table=str(table))

    def begin_write(self, request: Write, key: str | None = None) -> Future[Written]:
        """Wait for the next commit to the table; the future has the end of it."""
        key = key_of(request, key)
        named = write_key(request.tenant_id, key, request.records) if key else None
        write = PendingWrite(request.records, named)
        self._group.add(self.table_of(request), write)
        return write.future

    def write(self, request: Write, key: str | None = None) -> WriteAnswer:
        return write_answer(self.begin_write(request, key).result())

    def _committed(
        self, table: TableRef, table_uuid: str, total: int, writes: Sequence[PendingWrite]
    ) -> None:
        def tell(found: Finding | None) -> None:
            for write in writes:
                write.succeed(_written(write, found))

        late = self._detector.late(table_uuid)
        interval = self._rules.check_interval
        if self._rules.is_checking and total and is_due(total, len(writes), interval):
            self._detector.look(table, table_uuid, tell)
        else:
            tell(late)

    def _recommended(self, table: TableRef) -> None:
        """A recommendation may become a job. Nothing is let go for good by it."""
        if not self._rules.submits_recommended:
            return
        tenant = tenant_of(table) or table.namespace[0]
        try:
            if table in self._services.store.active_tables([table]):
                return
            request = Compact(
                operation="COMPACT",
                tenant_id=tenant,
                table=table.name,
                expire_snapshots=False,
            )
            asker = compacting.Asker(trigger=Trigger.EVENT, admit=self._admit_event)
            compacting.begin(self._services, table, request, self._rules, asker)
        except NeveError as error:
            self._services.warn(f"Table {table} was not compacted: {error.message}")

    def query(
        self, request: Query, may_read: Callable[[TableRef], bool] = lambda _: True
    ) -> QueryAnswer:
        """One SELECT on rows that are read first, each table as it is then.

        A table that may not be read is told as one that is not there.
        """
        limits = self._rules.query
        if request.limit is not None:
            limits = replace(limits, max_rows=min(request.limit, limits.max_rows))
        ends_at = time.monotonic() + limits.max_seconds
        own = self.table_of(request)
        plain = select_all(own.name, limits.max_rows)
        statement = read_statement(request.sql) if request.sql else plain
        if not self._querying.acquire(timeout=limits.max_seconds):
            raise QueryLimit("Too many queries run at once.", next_step="Ask again in a while.")
        try:
            relations = self._relations(request, statement, may_read)
            left = ends_at - time.monotonic()
            found = self._queries().run(statement.text, relations, limits, left)
        finally:
            self._querying.release()
        return QueryAnswer(
            columns=[ResultColumn(name=c.name, type=c.type) for c in found.columns],
            records=[dict(row) for row in found.rows],
            row_count=len(found.rows),
            truncated=found.is_truncated,
        )

    def _relations(
        self, request: Query, statement: Statement, may_read: Callable[[TableRef], bool]
    ) -> dict[str, QueryRelation]:
        def find(relation: Relation) -> QueryRelation:
            namespace = relation.namespace or request.namespace
            table = self.table(request.tenant_id, namespace, relation.table)
            try:
                if not may_read(table):
                    raise TableNotFound("")
                return QueryRelation(self._tables.source(table), relation.wanted)
            except TableNotFound:
                raise TableNotFound(
                    f"There is no table {relation.table} in namespace {namespace}.",
                    next_step="CREATE_TABLE makes it.",
                ) from None

        return {name: find(relation) for name, relation in statement.relations.items()}

    def begin_compact(self, request: Compact, asker: Asker = ANYBODY) -> compacting.Compaction:
        """Queue its jobs; a worker runs them."""
        table = self.table_of(request)
        return compacting.begin(self._services, table, request, self._rules, asker)

    def compact_here(self, request: Compact, asker: Asker = ANYBODY) -> CompactAnswer:
        """Compact in this process, by an engine without a JVM; what that cannot do is refused."""
        services = replace(self._services, make_engine=self._make_engine)
        return compacting.run_here(services, self.table_of(request), request, self._rules, asker)

    def compaction(self, begun: compacting.Compaction) -> CompactAnswer | None:
        """What came of it; None while its jobs run."""
        jobs = {job_id: self._services.store.job(job_id) for job_id in begun.job_ids}
        return compacting.answer(begun, jobs)

    def table_of(self, request: CreateTable | Write | Query | Compact) -> TableRef:
        """The table that a request is about."""
        return self.table(request.tenant_id, request.namespace, request.table)


def write_answer(written: Written) -> WriteAnswer:
    return WriteAnswer(
        records_written=written.records,
        compaction_recommended=written.is_recommended,
        small_files_count=written.small_files,
        repeated=written.is_repeat,
    )


def _written(write: PendingWrite, found: Finding | None) -> Written:
    if found is None:
        return Written(write.size)
    return Written(write.size, False, found.small_files, found.is_recommended)

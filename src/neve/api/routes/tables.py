"""Tables: what there is, how well each is, its files, snapshots and jobs. Only looks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from neve.access.rights import Right
from neve.api.access import TheNeve, needs
from neve.api.bodies import Jobs
from neve.api.routes.jobs import page_of
from neve.api.values import (
    CursorQuery,
    Limit,
    TablePath,
    Time,
    document_of,
    make_cursor,
    read_cursor,
)
from neve.model.facts import RefFacts, SnapshotFacts, TableFacts
from neve.model.health import Health

router = APIRouter(prefix="/tables", tags=["tables"])
HealthBody = document_of(Health)


class CatalogProblem(BaseModel):
    """A catalog that did not answer."""

    catalog: str
    detail: str
    next_step: str | None


class Tables(BaseModel):
    """A page of names of tables, in their order."""

    tables: list[str]
    next_cursor: str | None
    catalog_problems: list[CatalogProblem]


class Ref(BaseModel):
    """A branch or a tag."""

    name: str
    kind: str
    snapshot_id: int
    max_age_ms: int | None


class TableBody(BaseModel):
    """A table as its metadata describes it."""

    table: str
    table_uuid: str
    location: str
    format_version: int
    snapshot_id: int | None
    data_files: int
    delete_files: int
    total_bytes: int
    records: int
    snapshots: int
    refs: list[Ref]


class File(BaseModel):
    """One data file."""

    path: str
    size_bytes: int
    records: int
    spec_id: int
    added_snapshot_id: int | None


class Files(BaseModel):
    """A page of data files, by path."""

    table: str
    snapshot_id: int | None
    files: list[File]
    next_cursor: str | None


class Snapshot(BaseModel):
    """One snapshot of a table."""

    snapshot_id: int
    parent_id: int | None
    committed_at: Time
    operation: str
    job_id: str | None
    is_current: bool
    refs: list[str]


class Snapshots(BaseModel):
    """A page of snapshots, newest first."""

    table: str
    snapshot_id: int | None
    snapshots: list[Snapshot]
    next_cursor: str | None


@router.get("", dependencies=[needs(Right.VIEW)])
def tables(
    neve: TheNeve,
    pattern: Annotated[
        str, Query(min_length=1, max_length=1024, description="A glob such as lake.demo.*")
    ] = "*",
    limit: Limit = 100,
    cursor: CursorQuery = None,
) -> Tables:
    """Tables that a pattern is for, and catalogs that did not answer."""
    after = read_cursor(cursor, str)[0] if cursor else ""
    found = neve.maintainable(*(() if pattern == "*" else (pattern,)))
    names = [name for name in sorted(str(table) for table in found.tables) if name > after]
    return Tables(
        tables=names[:limit],
        next_cursor=make_cursor(names[limit - 1]) if len(names) > limit else None,
        catalog_problems=[
            CatalogProblem(catalog=name, detail=error.message, next_step=error.next_step)
            for name, error in sorted(found.problems.items())
        ],
    )


@router.get("/{table}", dependencies=[needs(Right.VIEW)])
def table(table: TablePath, neve: TheNeve) -> TableBody:
    """One table in figures."""
    facts = neve.survey(table)
    return TableBody(
        table=str(facts.table),
        table_uuid=facts.table_uuid,
        location=facts.location,
        format_version=facts.format_version,
        snapshot_id=facts.snapshot_id,
        data_files=len(facts.data_files),
        delete_files=len(facts.delete_files),
        total_bytes=facts.total_bytes,
        records=facts.total_records,
        snapshots=len(facts.snapshots),
        refs=[_ref(ref) for ref in facts.refs],
    )


@router.get("/{table}/health", response_model=HealthBody, dependencies=[needs(Right.VIEW)])
def health(table: TablePath, neve: TheNeve) -> Health:
    """How well a table is, and why: scores, findings, partitions."""
    return neve.health(table)


@router.get("/{table}/files", dependencies=[needs(Right.VIEW)])
def files(table: TablePath, neve: TheNeve, limit: Limit = 100, cursor: CursorQuery = None) -> Files:
    """Data files of the current snapshot, by path."""
    after = read_cursor(cursor, str)[0] if cursor else ""
    facts = neve.survey(table)
    found = sorted((f for f in facts.data_files if f.path > after), key=lambda f: f.path)
    return Files(
        table=str(facts.table),
        snapshot_id=facts.snapshot_id,
        files=[
            File(
                path=file.path,
                size_bytes=file.size_bytes,
                records=file.record_count,
                spec_id=file.partition[0],
                added_snapshot_id=file.added_snapshot_id,
            )
            for file in found[:limit]
        ],
        next_cursor=make_cursor(found[limit - 1].path) if len(found) > limit else None,
    )


@router.get("/{table}/snapshots", dependencies=[needs(Right.VIEW)])
def snapshots(
    table: TablePath, neve: TheNeve, limit: Limit = 100, cursor: CursorQuery = None
) -> Snapshots:
    """The table's log, newest first."""
    facts = neve.outline(table)
    found = sorted(facts.snapshots, key=_age, reverse=True)
    if cursor:
        place = tuple(read_cursor(cursor, float, int))
        found = [snapshot for snapshot in found if _age(snapshot) < place]
    return Snapshots(
        table=str(facts.table),
        snapshot_id=facts.snapshot_id,
        snapshots=[_snapshot(snapshot, facts) for snapshot in found[:limit]],
        next_cursor=make_cursor(*_age(found[limit - 1])) if len(found) > limit else None,
    )


@router.get(
    "/{table}/history", response_model=Jobs, dependencies=[needs(Right.VIEW, asks_catalogs=False)]
)
def history(
    table: TablePath, neve: TheNeve, limit: Limit = 50, cursor: CursorQuery = None
) -> Response:
    """Jobs of the table, newest first."""
    return page_of(neve, table, limit, cursor)


def _age(snapshot: SnapshotFacts) -> tuple[float, int]:
    return snapshot.committed_at.timestamp(), snapshot.snapshot_id


def _ref(ref: RefFacts) -> Ref:
    return Ref(name=ref.name, kind=ref.kind, snapshot_id=ref.snapshot_id, max_age_ms=ref.max_age_ms)


def _snapshot(snapshot: SnapshotFacts, facts: TableFacts) -> Snapshot:
    return Snapshot(
        snapshot_id=snapshot.snapshot_id,
        parent_id=snapshot.parent_id,
        committed_at=snapshot.committed_at,
        operation=snapshot.operation,
        job_id=snapshot.job_id,
        is_current=snapshot.snapshot_id == facts.snapshot_id,
        refs=[ref.name for ref in facts.refs if ref.snapshot_id == snapshot.snapshot_id],
    )

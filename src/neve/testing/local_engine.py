"""An engine that commits to a `LocalLake` what Spark would, without Spark and without rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from neve.catalog.connect import Catalogs
from neve.catalog.surveyor import CatalogSurveyor
from neve.model.facts import TableFacts
from neve.model.job import SPARK
from neve.model.metadata_change import MadeOn, UndoTag
from neve.model.rewrite import StagedFiles, StageOrder
from neve.model.table import TableRef
from neve.model.workers import EngineReport, EngineState
from neve.planning.constants import Constants
from neve.service.ports import Engine, Reporter
from neve.testing.facts import NOW
from neve.testing.local_lake import EXISTING, FileEntry, LocalLake, Manifest

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def _refused(
    method: Callable[Concatenate[Any, Asked], Answer],
) -> Callable[Concatenate[Any, Asked], Answer]:
    def call(_: Any, /, *arguments: Asked.args, **named: Asked.kwargs) -> Answer:
        raise AssertionError(f"This engine is not made for {method.__name__}.")

    return call


class LocalEngine:
    """Writes metadata only; tests put what else they need into its place."""

    def __init__(self, lake: LocalLake) -> None:
        self._lake = lake

    def job(self, job_id: str) -> AbstractContextManager[None]:
        return nullcontext()

    def cancel(self, job_id: str) -> None:
        """It has no tasks that could be ended."""

    def warm_up(self) -> bool:
        return False

    def revive(self) -> None:
        """It does not die."""

    def report(self) -> EngineReport:
        return EngineReport(SPARK, EngineState.READY)

    def stop(self) -> None:
        """There is nothing to stop."""

    def abandon(self) -> None:
        """There is no process of it."""

    def misread(
        self, table: TableRef, paths: Sequence[str], in_doubt: Mapping[str, Constants]
    ) -> dict[str, str]:
        return {}

    def stage(
        self, table: TableRef, snapshot_id: int, orders: Sequence[StageOrder], reporter: Reporter
    ) -> list[StagedFiles]:
        rows = {file.path: file.record_count for file in self._survey(table).data_files}
        return [
            StagedFiles(
                order.order_id,
                (f"file:///new-{order.order_id}",),
                sum(rows[path] for path in order.paths),
                handle=order,
            )
            for order in orders
        ]

    def commit_staged(
        self,
        table: TableRef,
        made_on: MadeOn,
        staged: Sequence[StagedFiles],
        properties: Mapping[str, str],
        undo: UndoTag | None = None,
    ) -> None:
        files = {file.path: file for file in self._survey(table).data_files}
        orders = [cast(StageOrder, item.handle) for item in staged]
        gone = {path for order in orders for path in order.paths}
        kept = [
            FileEntry(
                file.path,
                file.partition[1],
                file.size_bytes,
                file.record_count,
                status=EXISTING,
                snapshot_id=file.added_snapshot_id,
                sequence_number=file.data_sequence_number,
            )
            for file in files.values()
            if file.path not in gone
        ]
        made = [
            FileEntry(
                item.paths[0], files[order.paths[0]].partition[1], order.input_bytes, item.rows
            )
            for item, order in zip(staged, orders, strict=True)
        ]
        self._lake.commit(
            self._lake.catalog.load_table((*table.namespace, table.name)),
            Manifest([*kept, *made]),
            keeps=False,
            operation="replace",
            summary={**properties, "added-data-files": str(len(made))},
            undo=undo,
        )

    def _survey(self, table: TableRef) -> TableFacts:
        catalogs = Catalogs({self._lake.name: self._lake.properties})
        return CatalogSurveyor(catalogs, lambda: NOW).survey(table)

    rewrite = _refused(Engine.rewrite)
    execute = _refused(Engine.execute)
    run_tasks = _refused(Engine.run_tasks)
    replace_files = _refused(Engine.replace_files)
    move_deletes = _refused(Engine.move_deletes)
    change_files = _refused(Engine.change_files)
    live_rows = _refused(Engine.live_rows)
    fingerprint = _refused(Engine.fingerprint)
    live_positions = _refused(Engine.live_positions)
    delete_files = _refused(Engine.delete_files)
    unreachable = _refused(Engine.unreachable)
    sweep = _refused(Engine.sweep)
    look_up = _refused(Engine.look_up)


if TYPE_CHECKING:
    _held_to_the_port: Callable[[LocalLake], Engine] = LocalEngine

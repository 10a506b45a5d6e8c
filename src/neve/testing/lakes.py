"""Several tables in memory behind the ports of one deployment, each a lake of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, TypeVar

from neve.model.facts import TableFacts
from neve.model.metadata_change import MetadataChange
from neve.model.orphans import TableLocation
from neve.model.outcome import Outcome
from neve.model.table import TableRef
from neve.planning.maintenance_log import by_log
from neve.testing.facts import MB, TABLE, data_file, table_facts
from neve.testing.orphans import StoredLake

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer")


def _of_its_lake(
    method: Callable[Concatenate[Any, Asked], Answer],
) -> Callable[Concatenate[MemoryLakes, Asked], Answer]:
    """The same method of the lake whose table is asked about."""

    def call(lakes: MemoryLakes, /, *arguments: Asked.args, **named: Asked.kwargs) -> Answer:
        table, *_ = arguments
        assert isinstance(table, TableRef)
        # By name, since tests put other methods into the place of a lake's own.
        answer: Answer = getattr(lakes[table], method.__name__)(*arguments, **named)
        return answer

    return call


class MemoryLakes:
    """Tables of three small files each, by their names."""

    def __init__(self, *names: str) -> None:
        self.members = {name: _make(name) for name in names}
        self.logged: list[list[Outcome]] = []

    def __getitem__(self, table: TableRef) -> StoredLake:
        return self.members[table.name]

    def tables(self, pattern: str) -> list[TableRef]:
        return [lake.facts.table for lake in self.members.values()]

    def locations(self) -> list[TableLocation]:
        return [lake.location(lake.facts.table) for lake in self.members.values()]

    def commit(
        self, change: MetadataChange, still_held: Callable[[], None] | None = None
    ) -> TableFacts:
        return self[change.table].metadata.commit(change, still_held)

    def write(self, outcomes: Sequence[Outcome]) -> list[TableRef]:
        self.logged.append(list(outcomes))
        return list(by_log(outcomes))

    def job(self, job_id: str) -> AbstractContextManager[None]:
        return nullcontext()

    def cancel(self, job_id: str) -> None:
        """They have no tasks that could be ended."""

    def warm_up(self) -> bool:
        return False

    survey = _of_its_lake(StoredLake.survey)
    outline = _of_its_lake(StoredLake.outline)
    copy_inputs = _of_its_lake(StoredLake.copy_inputs)
    delete_entries = _of_its_lake(StoredLake.delete_entries)
    reachable = _of_its_lake(StoredLake.reachable)
    location = _of_its_lake(StoredLake.location)
    other_registration = _of_its_lake(StoredLake.other_registration)
    path_twin = _of_its_lake(StoredLake.path_twin)
    metadata_owners = _of_its_lake(StoredLake.metadata_owners)
    not_of_tables = _of_its_lake(StoredLake.not_of_tables)
    needed = _of_its_lake(StoredLake.needed)
    freed_files = _of_its_lake(StoredLake.freed_files)
    present_files = _of_its_lake(StoredLake.present_files)

    misread = _of_its_lake(StoredLake.misread)
    fingerprint = _of_its_lake(StoredLake.fingerprint)
    stage = _of_its_lake(StoredLake.stage)
    commit_staged = _of_its_lake(StoredLake.commit_staged)
    rewrite = _of_its_lake(StoredLake.rewrite)
    execute = _of_its_lake(StoredLake.execute)
    run_tasks = _of_its_lake(StoredLake.run_tasks)
    replace_files = _of_its_lake(StoredLake.replace_files)
    move_deletes = _of_its_lake(StoredLake.move_deletes)
    change_files = _of_its_lake(StoredLake.change_files)
    live_rows = _of_its_lake(StoredLake.live_rows)
    live_positions = _of_its_lake(StoredLake.live_positions)
    delete_files = _of_its_lake(StoredLake.delete_files)
    unreachable = _of_its_lake(StoredLake.unreachable)
    sweep = _of_its_lake(StoredLake.sweep)
    look_up = _of_its_lake(StoredLake.look_up)


def _make(name: str) -> StoredLake:
    facts = table_facts([data_file(f"{name}-{number}", MB) for number in range(3)])
    return StoredLake(replace(facts, table=TABLE.sibling(name)))

"""Which deletes are written again for new files, under which names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from neve.model.errors import CommitConflict
from neve.model.facts import DeleteFileFacts, PartitionKey
from neve.model.groups import FileGroup
from neve.model.rebase import (
    DeleteEntry,
    DeleteKey,
    GroupMove,
    MovedSource,
    MovedTarget,
    MoveOrder,
    delete_key,
)
from neve.model.rewrite import FileDetails, WrittenFile
from neve.planning.rebase import Meanwhile, Standing, TouchedSource
from neve.planning.staleness import paths_of
from neve.service.step_run import StepRun

#: From this format version on position deletes are vectors.
FIRST_WITH_VECTORS = 3


@dataclass(frozen=True, slots=True)
class Replacement:
    """A group, its new files that are proven, and how manifests describe both."""

    group: FileGroup
    files: tuple[WrittenFile, ...]
    removed: tuple[FileDetails, ...]
    added: tuple[FileDetails, ...]


Replacements = Mapping[int, Replacement]


def move_order(
    run: StepRun,
    meanwhile: Meanwhile,
    kept: Replacements,
    standings: Mapping[int, Standing],
    attempt: int,
) -> MoveOrder:
    """What is to be written again so that deletes of these groups follow their rows."""
    head = meanwhile.head
    assert head.snapshot_id is not None
    sources = [source for standing in standings.values() for source in standing.touched]
    fresh = _by_key(delete for source in sources for delete in source.fresh)
    replaced = {path for one in kept.values() for path in paths_of(one.group)}
    equalities = {delete for standing in standings.values() for delete in standing.equalities}
    copies = _by_key(meanwhile.would_be_dropped(equalities, replaced))
    spoken_of = _by_key(d for source in sources for d in source.positions) | copies
    names = _Names(run, attempt)
    moves = [
        (number, standing, [names.ask(_place(standing)) for _ in kept[number].added])
        for number, standing in standings.items()
        if standing.touched
    ]
    rests = {key: names.ask(delete.partition) for key, delete in fresh.items()}
    copied = {
        key: names.ask(delete.partition, delete.path.rpartition(".")[2])
        for key, delete in copies.items()
    }
    has_vectors = head.format_version >= FIRST_WITH_VECTORS
    vectors = names.ask(_place(moves[0][1]), "puffin") if moves and has_vectors else None
    at = names.locations(head.snapshot_id)
    details = _details(run, head.snapshot_id, spoken_of)
    return MoveOrder(
        tuple(
            _group_move(n, kept[n], standing, [at[i] for i in own]) for n, standing, own in moves
        ),
        details,
        {key: at[index] for key, index in rests.items()},
        {key: at[index] for key, index in copied.items()},
        at[vectors] if vectors is not None else None,
    )


def _place(standing: Standing) -> PartitionKey:
    return standing.touched[0].file.partition


def _by_key(deletes: Iterable[DeleteFileFacts]) -> dict[DeleteKey, DeleteFileFacts]:
    return {delete_key(d.path, d.kind, d.referenced_path): d for d in deletes}


def _details(
    run: StepRun, head_id: int, deletes: Mapping[DeleteKey, DeleteFileFacts]
) -> dict[DeleteKey, DeleteEntry]:
    paths = {delete.path for delete in deletes.values()}
    read = run.services.surveyor.delete_entries(run.table, head_id, paths)
    found = {details.key: details for details in read if details.key in deletes}
    if len(found) != len(deletes):
        raise CommitConflict(f"Delete files of table {run.table} changed while they were read.")
    return found


def _group_move(
    number: int, one: Replacement, standing: Standing, names: Sequence[str]
) -> GroupMove:
    return GroupMove(
        number,
        tuple(_moved_source(source) for source in standing.touched),
        tuple(
            MovedTarget(file.path, file.rows_out, added.spec_id, added.partition, file.ranges, name)
            for file, added, name in zip(one.files, one.added, names, strict=True)
        ),
    )


def _moved_source(source: TouchedSource) -> MovedSource:
    return MovedSource(
        source.file.path,
        source.file.record_count,
        tuple(_by_key(source.positions)),
        explains_removed=not source.had_equalities,
    )


class _Names:
    """Names of delete files, all of which are asked for before the catalog is."""

    def __init__(self, run: StepRun, attempt: int) -> None:
        self._run = run
        self._numbers = count()
        self._asked: list[tuple[PartitionKey, list[str]]] = []
        # As with data files: no other attempt at the job writes a name of this one.
        self._stem = f"{run.job_id}-{run.held.lease.epoch}-{run.number}-{attempt}"

    def ask(self, partition: PartitionKey, kind: str = "parquet") -> int:
        number = next(self._numbers)
        self._asked.append((partition, [f"{number:05d}-{self._stem}-deletes.{kind}"]))
        return number

    def locations(self, snapshot_id: int) -> list[str]:
        surveyor = self._run.services.surveyor
        inputs = surveyor.copy_inputs(self._run.table, snapshot_id, (), self._asked)
        return [location for (location,) in inputs.locations]

"""Commit new files; where writers deleted rows of the old ones meanwhile, follow their deletes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from neve.model.errors import CommitConflict, ExecutionError, JobRefused, ProofFailed, RowsError
from neve.model.facts import REBASED_FROM_PROPERTY, TableFacts
from neve.model.job import JobState
from neve.model.rebase import FileChange, MovedDeletes
from neve.model.rewrite import WrittenFile
from neve.planning.delete_reach import reach_in_doubt
from neve.planning.rebase import Meanwhile, Standing
from neve.planning.staleness import paths_of
from neve.service.move_order import Replacement, Replacements, move_order
from neve.service.step_run import StepResult, StepRun, Written, commit_untouched

#: How often deletes are followed, where writers commit faster than that takes.
MAX_REBASES = 10
#: What a snapshot says about its new files.
Describe = Callable[[Sequence[WrittenFile]], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class _Followed:
    """A head, what can be committed on it, and the groups that cannot follow."""

    head_id: int
    kept: Replacements
    taken: Mapping[int, str]
    touched: tuple[int, ...] = ()
    deletes: MovedDeletes = field(default_factory=MovedDeletes)
    #: What the new files must be as old as, so that equality deletes go on applying to them.
    data_sequence_number: int | None = None


def commit_replacements(run: StepRun, replacements: Replacements, describe: Describe) -> StepResult:
    """Commit all groups that can be: as they are, or with the deletes that came meanwhile."""
    if not replacements:
        return StepResult()
    waiting, taken, said = dict(replacements), dict[int, str](), None
    for attempt in range(MAX_REBASES + 1):
        try:
            touched: tuple[int, ...] = ()
            if attempt == 0:
                _commit(run, waiting, describe)
            else:
                followed = _follow(run, waiting, attempt)
                taken |= followed.taken
                waiting, touched = dict(followed.kept), followed.touched
                _commit_on_head(run, followed, describe)
            return _result(run, replacements, taken, said, touched)
        except CommitConflict as conflict:
            said = conflict.message
    # Writers are faster than we can follow. What they leave alone needs no following.
    rest = commit_untouched(
        run,
        {n: Written((r.group,), tuple(f.path for f in r.files)) for n, r in waiting.items()},
        lambda numbers: _commit(run, {number: waiting[number] for number in numbers}, describe),
    )
    done = _result(run, replacements, taken, said, ())
    return StepResult(
        conflicting=done.conflicting + rest.conflicting, conflict=rest.conflict or said
    )


def _result(
    run: StepRun,
    replacements: Replacements,
    taken: Mapping[int, str],
    said: str | None,
    touched: Sequence[int],
) -> StepResult:
    run.remember_leftovers([f.path for n in taken for f in replacements[n].files])
    why = next(iter(taken.values()), None)
    return StepResult(
        conflicting=tuple(replacements[number].group for number in taken),
        conflict=f"{said} {_sentence(why)}" if said and why else None,
        rebased=tuple(replacements[number].group for number in touched),
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}."


def _commit(run: StepRun, chosen: Replacements, describe: Describe) -> None:
    """As it was written, unless a writer touched one of the replaced files since the base."""
    _enter_commit(run)
    run.services.engine.replace_files(
        run.table,
        run.made_on,
        [file for one in chosen.values() for file in one.removed],
        [file for one in chosen.values() for file in one.added],
        _properties(run, chosen, describe),
        run.undo,
    )


def _enter_commit(run: StepRun) -> None:
    # The last thing before a commit: a job that lost the table must not write to it.
    run.held.check()
    run.held.enter(JobState.COMMITTING)


def _properties(run: StepRun, chosen: Replacements, describe: Describe) -> dict[str, str]:
    files = [file for one in chosen.values() for file in one.files]
    return {**run.properties, **describe(files)}


def _commit_on_head(run: StepRun, followed: _Followed, describe: Describe) -> None:
    """On the head that the groups were judged at, and on no other."""
    if not followed.kept:
        return
    kept = followed.kept.values()
    change = FileChange(
        tuple(file for one in kept for file in one.removed),
        tuple(file for one in kept for file in one.added),
        followed.deletes,
        followed.data_sequence_number,
    )
    properties = _properties(run, followed.kept, describe)
    properties[REBASED_FROM_PROPERTY] = str(run.base.snapshot_id)
    try:
        _enter_commit(run)
        made_on = replace(run.made_on, snapshot_id=followed.head_id)
        run.services.engine.change_files(run.table, made_on, change, properties, run.undo)
    except (CommitConflict, JobRefused):
        # Not committed for sure. After an unknown commit nothing is called a leftover.
        run.remember_leftovers(sorted({delete.path for delete in followed.deletes.added}))
        raise


def _follow(run: StepRun, waiting: Replacements, attempt: int) -> _Followed:
    """Read the head, and bring deletes that came meanwhile to the rows of the new files."""
    head = run.services.surveyor.survey(run.table)
    meanwhile = Meanwhile(run.base, head)
    standings = {n: _standing(meanwhile, one) for n, one in waiting.items()}
    standings |= _in_doubt(run, head, waiting, standings)
    taken = {n: s.taken for n, s in standings.items() if s.taken is not None}
    touched = [n for n, s in standings.items() if s.taken is None and not s.is_untouched]
    moved = MovedDeletes()
    if touched:
        kept = {n: one for n, one in waiting.items() if n not in taken}
        try:
            moved = _move(run, meanwhile, kept, {n: standings[n] for n in touched}, attempt)
            taken |= moved.refused
        except RowsError as error:
            taken |= dict.fromkeys(touched, error.message)
    left = [n for n in touched if n not in taken]
    if not left:
        run.remember_leftovers([delete.path for delete in moved.added])
        moved = MovedDeletes()
    assert head.snapshot_id is not None
    return _Followed(
        head.snapshot_id,
        {n: one for n, one in waiting.items() if n not in taken},
        taken,
        tuple(left),
        moved,
        meanwhile.base_sequence_number if any(standings[n].equalities for n in left) else None,
    )


def _standing(meanwhile: Meanwhile, one: Replacement) -> Standing:
    if meanwhile.may_have_numbered_rows and any(f.first_row_id is None for f in one.removed):
        return Standing("rows got their ids while they were rewritten without")
    standing = meanwhile.standing(paths_of(one.group))
    if standing.taken is not None or standing.is_untouched:
        return standing
    places = {(file.spec_id, file.partition) for file in (*one.removed, *one.added)}
    if standing.equalities and len(places) > 1:
        # They hold for a partition, and rows went to another one.
        return Standing("an equality delete came, and rows moved to another partition")
    return standing


def _in_doubt(
    run: StepRun, head: TableFacts, waiting: Replacements, standings: Mapping[int, Standing]
) -> dict[int, Standing]:
    """Groups of which new equality deletes may take other rows from new files than from old ones.

    Readers go by bounds, and those of a new file are others than those of its sources.
    """
    fresh = {n: s.equalities for n, s in standings.items() if s.taken is None and s.equalities}
    if not fresh:
        return {}
    assert head.snapshot_id is not None
    keys = {(delete.path, delete.referenced_path) for own in fresh.values() for delete in own}
    inputs = run.services.surveyor.copy_inputs(run.table, head.snapshot_id, (), (), keys)
    found = {}
    for number, own in fresh.items():
        paths = {delete.path for delete in own}
        details = [each for each in inputs.deletes if each.path in paths]
        files = (*waiting[number].removed, *waiting[number].added)
        if why := reach_in_doubt(details, files, inputs.columns):
            found[number] = Standing(why.rstrip("."))
    return found


def _move(
    run: StepRun,
    meanwhile: Meanwhile,
    kept: Replacements,
    standings: Mapping[int, Standing],
    attempt: int,
) -> MovedDeletes:
    order = move_order(run, meanwhile, kept, standings, attempt)
    if not order.groups and not order.copies:
        return MovedDeletes()
    try:
        return run.services.engine.move_deletes(run.table, order)
    except (RowsError, ExecutionError) as error:
        run.remember_leftovers(order.names)
        if not isinstance(error, RowsError | ProofFailed):
            run.remember_leftovers([file.path for one in kept.values() for file in one.files])
        raise

"""The end of the ladder: files that nobody rewrites rightly stay as they are, and it is told."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from neve.model.facts import DataFileFacts, TableFacts
from neve.model.groups import FileGroup, PlannedFile
from neve.model.outcome import LeftAlone
from neve.model.steps import RewriteDataFiles
from neve.planning.constants import Constants, IdentityValues
from neve.planning.planner import step_for_spark
from neve.service.services import Services

#: Files that an outcome names; of more, the next run finds the rest.
MAX_NAMED = 1000


def without_misread(
    services: Services, base: TableFacts, part: RewriteDataFiles, refused: Collection[str]
) -> tuple[RewriteDataFiles | None, tuple[LeftAlone, ...]]:
    """The part without files that Iceberg's reader would misread, and those files.

    `refused` are files that engines of our own have refused before.
    """
    parquet = [file for file in _read(base, part) if file.format == "PARQUET"]
    in_doubt = _in_doubt(services, base, parquet)
    found = services.engine.misread(base.table, [file.path for file in parquet], in_doubt)
    if not found:
        return part, ()
    groups = _kept(base, part, found)
    left = tuple(
        LeftAlone(path, why, base.schema_id, path in refused, base.name_mapping)
        for path, why in sorted(found.items())
    )
    return step_for_spark(base, part, tuple(groups)) if groups else None, left


def _in_doubt(
    services: Services, base: TableFacts, files: Sequence[DataFileFacts]
) -> dict[str, Constants]:
    """Files that must be opened to know that they hold what their partition says."""
    values = IdentityValues(base)
    files = [file for file in files if values.of(file)]
    if not files:
        return {}
    assert base.snapshot_id is not None
    paths = [file.path for file in files]
    inputs = services.surveyor.copy_inputs(base.table, base.snapshot_id, paths, ())
    return values.in_doubt(files, inputs.files)


def _read(base: TableFacts, part: RewriteDataFiles) -> list[DataFileFacts]:
    """The files that Iceberg would read: where rows are ordered, all of a partition."""
    planned = {file.path for group in part.groups for file in group.files}
    if not part.strategy.orders_rows:
        return [file for file in base.data_files if file.path in planned]
    partitions = {file.partition for file in base.data_files if file.path in planned}
    return [file for file in base.data_files if file.partition in partitions]


def _kept(base: TableFacts, part: RewriteDataFiles, found: Mapping[str, str]) -> list[FileGroup]:
    if part.strategy.orders_rows:
        # Iceberg's action takes partitions as a whole, files that nobody planned among them.
        spoiled = {file.partition for file in base.data_files if file.path in found}
        whole = {file.path for file in base.data_files if file.partition in spoiled}
        return [g for g in part.groups if not any(file.path in whole for file in g.files)]
    rests = [(group, [f for f in group.files if f.path not in found]) for group in part.groups]
    return [_rest(group, rest) for group, rest in rests if _is_work(group, rest)]


def _is_work(group: FileGroup, rest: Sequence[PlannedFile]) -> bool:
    return len(rest) == len(group.files) or len(rest) > 1 or bool(rest and group.delete_files)


def _rest(group: FileGroup, files: Sequence[PlannedFile]) -> FileGroup:
    if len(files) == len(group.files):
        return group
    return replace(
        group,
        files=tuple(files),
        input_bytes=sum(file.size_bytes for file in files),
        records=sum(file.record_count for file in files),
        expected_output_files=min(group.expected_output_files, len(files)),
    )


def told(left: Sequence[LeftAlone]) -> str:
    """One sentence about files that stay as they are."""
    files = "1 file was" if len(left) == 1 else f"{len(left)} files were"
    return (
        f"{files} left alone, because nobody would rewrite them rightly: of {left[0].path} "
        f"{left[0].reason}."
    )

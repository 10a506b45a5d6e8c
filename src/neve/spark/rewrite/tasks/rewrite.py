"""The engine `rewrite`: chunks copied or joined where they can be, and encoded where they must."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from neve.model.errors import ParquetUnsupported
from neve.model.policy import Engine
from neve.model.rewrite import SourceRange, WrittenFile
from neve.parquet.assembly.columns import REQUIRED, columns_with_ids
from neve.parquet.assembly.decide import plan_assembly
from neve.parquet.assembly.files import assemble_local
from neve.parquet.assembly.plan import AssemblyLimits, AssemblyPlan
from neve.parquet.assembly.result import AssemblyResult
from neve.parquet.assembly.source import AssemblySource, load_assembly_source
from neve.parquet.assembly.wanted import WantedSchema, wanted_schema
from neve.parquet.layout import Physical
from neve.parquet.sources import ClosableReader, OpenSources
from neve.planning.packing import split_evenly
from neve.rows.metrics import column_metrics, leaf_ids
from neve.rows.roaring import Positions, write_bitmap
from neve.spark.rewrite.inputs import TaskInputs
from neve.spark.rewrite.rows.kept import KeptBytes
from neve.spark.rewrite.rows.layout import RowLayout
from neve.spark.rewrite.rows.prove import Checked, FileCheck
from neve.spark.rewrite.rows.provider import LiveColumns, LiveReads
from neve.spark.rewrite.rows.sources import Sources, load_sources
from neve.storage.readers import LocalReader

ICEBERG_SCHEMA = b"iceberg.schema"
#: A row group is in memory while it is made, so that this bounds a task.
MAX_ROW_GROUP_MEMORY_BYTES = 192 * 1024 * 1024


def write(inputs: TaskInputs, names: Sequence[str]) -> Iterator[WrittenFile]:
    """Write each output, read it back, and hold its rows against those of its sources."""
    sources = load_sources(inputs)
    shares = _shares(sources, len(inputs.task.outputs))
    # All are planned before one is written: whoever refuses has left nothing behind.
    plans = [(share, _plan(inputs, sources, share)) for share in shares]
    for (share, plan), name in zip(plans, names, strict=False):
        yield _write(inputs, sources, share, plan, name)


def _shares(sources: Sources, parts: int) -> list[list[int]]:
    """Inputs for each output, by the bytes that are left of them; none has no rows at all."""
    live = [n for n in range(len(sources.inputs)) if sources.live_rows(n)]
    if not live:
        raise ParquetUnsupported("Every row of the group is deleted.")
    shares = split_evenly(live, parts=parts, at_least=1, size_of=sources.live_bytes)
    # What has no rows left must still be accounted for.
    shares[0] += [n for n in range(len(sources.inputs)) if not sources.live_rows(n)]
    return [sorted(share) for share in shares]


def _plan(inputs: TaskInputs, sources: Sources, share: Sequence[int]) -> AssemblyPlan:
    layout = sources.layout
    chosen = [sources.assembly[number] for number in share]
    chunks = [chunk for one in chosen for group in one.groups for chunk in group.chunks]
    compressed = sum(chunk.length for chunk in chunks)
    uncompressed = max(1, sum(chunk.uncompressed_bytes for chunk in chunks))
    in_memory = MAX_ROW_GROUP_MEMORY_BYTES * compressed // uncompressed
    limits = AssemblyLimits(
        target_row_group_bytes=max(1, min(layout.options.row_group_bytes, in_memory)),
        keep_row_group_bytes=max(1, inputs.wanted.min_row_group_bytes),
        only_codec=layout.only_codec,
        needs_bloom_filters=inputs.wanted.needs_bloom_filters,
        values_are_provided=True,
    )
    return plan_assembly(chosen, _wanted(layout, chosen), limits)


def _wanted(layout: RowLayout, chosen: Sequence[AssemblySource]) -> WantedSchema:
    """The table's columns; those that are required in all sources stay so, and can be kept."""
    required: set[int] | None = None
    for schema, ids in {(one.schema.raw, tuple(one.mapped_ids.items())) for one in chosen}:
        columns = columns_with_ids(schema, dict(ids))
        own = {c.field_id for c in columns if c.levels == ((REQUIRED, c.field_id),) and c.field_id}
        required = own if required is None else required & own
    if not required:
        return layout.wanted
    fields = zip(layout.wanted.top_field_ids, layout.wanted.arrow, strict=True)
    return wanted_schema(
        pa.schema(
            [each.with_nullable(each.nullable and id_ not in required) for id_, each in fields]
        )
    )


def _write(
    inputs: TaskInputs, sources: Sources, share: Sequence[int], plan: AssemblyPlan, name: str
) -> WrittenFile:
    files, layout = sources.files, sources.layout
    path = files.target(name)
    reads = LiveReads(sources, share, _dictionaries(plan))
    check = FileCheck(sources, share, plan, reads, inputs.wanted.verify)
    columns = {
        # In memory they are called as in the table, whatever files call them.
        id_: column.with_name(layout.fields[id_].name)
        for id_, column in zip(plan.wanted.top_field_ids, plan.wanted.arrow, strict=True)
    }
    with files.writing(name):
        result = assemble_local(
            plan,
            path,
            provider=LiveColumns(reads, columns),
            options=layout.encoding,
            key_values=[(ICEBERG_SCHEMA, layout.schema_json.encode())],
            watch=check.saw,
            open_source=files.open,
        )
    try:
        with files.writing(name):
            checked = _check(check, sources, plan, result, path)
        notes = files.hand_over(name)
    except BaseException:
        # No commit knows it yet, and whoever refuses leaves nothing behind.
        path.unlink(missing_ok=True)
        raise
    sizes = {column.field_id: column.size_bytes for column in result.columns}
    return WrittenFile(
        path=name,
        size_bytes=result.size_bytes,
        inputs=tuple(share),
        rows_in=sum(sources.inputs[number].record_count for number in share),
        rows_deleted=sum(len(sources.deleted[number]) for number in share),
        rows_out=result.rows,
        segments={Engine.REWRITE: sum(sizes.values())},
        proof=checked.proof,
        split_offsets=result.split_offsets,
        ranges=_ranges(sources, share, result),
        metrics=column_metrics(checked.metrics, layout.stored, layout.modes, sizes),
        unmeasured=frozenset(id_ for id_ in leaf_ids(layout.stored) if layout.modes[id_].counts)
        - checked.metrics.keys(),
        bytes_by_kind={kind.value: size for kind, size in result.bytes_by_kind.items()},
        bytes_through_task=result.size_bytes,
        requests=inputs.requests_since(),
        notes=notes,
    )


def _check(
    check: FileCheck, sources: Sources, plan: AssemblyPlan, result: AssemblyResult, path: Path
) -> Checked:
    readers: OpenSources[ClosableReader] = OpenSources(plan, sources.files.open)
    with LocalReader(path) as reader, readers:
        kept = KeptBytes(readers, reader)
        written = load_assembly_source(reader)
        footer = written.read_footer(reader)
        return check.finish(result, written, footer, sources.open_written(str(path)), kept)


def _dictionaries(plan: AssemblyPlan) -> frozenset[int]:
    """Columns that are written with a dictionary, and can be one in memory."""
    wanted = plan.wanted
    return frozenset(
        wanted.top_field_ids[column.top]
        for group in plan.groups
        for column, planned in zip(wanted.columns, group.chunks, strict=True)
        if planned.encoded
        and planned.dictionary
        and len(column.levels) == 1
        and column.value.physical == Physical.BYTE_ARRAY
    )


def _ranges(
    sources: Sources, share: Sequence[int], result: AssemblyResult
) -> tuple[SourceRange, ...]:
    """Where rows come from: row groups of a source that follow each other are one range."""
    numbers = {sources.assembly[number].path: number for number in share}
    joined: list[list[int]] = []
    for one in result.ranges:
        number = numbers[one.path]
        last = joined[-1] if joined else None
        if last is not None and last[0] == number and last[1] + last[2] == one.first_row:
            last[2] += one.rows
        else:
            joined.append([number, one.first_row, one.rows])
    told = {number for number, _, _ in joined}
    joined += [[number, 0, 0] for number in share if number not in told]
    return tuple(_range(sources, *each) for each in joined)


def _range(sources: Sources, number: int, first_row: int, rows: int) -> SourceRange:
    removed = _within(sources.deleted[number], first_row, rows)
    bitmap = write_bitmap(removed) if len(removed) else b""
    return SourceRange(sources.inputs[number].path, first_row, rows, bitmap)


def _within(positions: Positions, first_row: int, rows: int) -> Positions:
    start, end = positions.searchsorted([first_row, first_row + rows])
    return positions[start:end]

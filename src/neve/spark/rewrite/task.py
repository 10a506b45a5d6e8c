"""What one Spark task does: one output file, from the row groups of its sources."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from neve.model.errors import ParquetCorrupt, ParquetError, ParquetUnsupported
from neve.model.rewrite import SpliceOrder, SpliceReport, SpliceRequirements
from neve.parquet.copy_local import splice_local
from neve.parquet.indexes import Source, load_source
from neve.parquet.outcome import SpliceResult
from neve.parquet.plan import SplicePlan
from neve.parquet.requirements import refusal
from neve.parquet.splice import plan_splice
from neve.storage.access import Storage, local_path
from neve.storage.readers import LocalReader, Reader


def run_order(
    order: SpliceOrder, wanted: SpliceRequirements, storage: Storage, attempt: int
) -> SpliceReport:
    """Write the order's file under this attempt's own name, or refuse with a reason."""
    target = order.targets[attempt]
    try:
        if target.startswith("s3:"):
            from neve.spark.rewrite.task_s3 import splice_in_store

            report = splice_in_store(order, wanted, storage, target)
        else:
            report = _splice_locally(order, wanted, target)
    except (ParquetUnsupported, ParquetCorrupt) as error:
        report = SpliceReport(order.group_id, refused=error.message)
    return _with_leftovers(report, order, attempt)


def _with_leftovers(report: SpliceReport, order: SpliceOrder, attempt: int) -> SpliceReport:
    return replace(report, leftovers=order.targets[:attempt])


def _splice_locally(order: SpliceOrder, wanted: SpliceRequirements, target: str) -> SpliceReport:
    with ExitStack() as stack:
        sources = [
            load_checked(stack.enter_context(LocalReader(local_path(path))), size_bytes)
            for path, size_bytes in order.sources
        ]
        if why := refusal([source.footer for source in sources], wanted):
            return SpliceReport(order.group_id, refused=why)
        plan = plan_splice(sources)
    path = local_path(target)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    result = splice_local(plan, path, verify="bytes")
    return report_of(order, plan, result, target, engine="copy", through_task=plan.copied_bytes)


def load_checked(reader: Reader, size_bytes: int) -> Source:
    """A source's footer and indexes; a file that is not as its manifest says is no source."""
    if reader.size_bytes != size_bytes:
        raise ParquetError(
            f"{reader.path} has {reader.size_bytes} bytes, and its manifest says {size_bytes}."
        )
    return load_source(reader)


def report_of(
    order: SpliceOrder,
    plan: SplicePlan,
    result: SpliceResult,
    target: str,
    *,
    engine: str,
    through_task: int,
    requests: int = 0,
    notes: tuple[str, ...] = (),
) -> SpliceReport:
    """What a task says about a file that it wrote."""
    return SpliceReport(
        group_id=order.group_id,
        path=target,
        size_bytes=result.size_bytes,
        rows=result.rows,
        row_groups=result.row_groups,
        split_offsets=result.split_offsets,
        copied_bytes=result.copied_bytes,
        bytes_through_task=through_task,
        compared_bytes=result.compared_bytes,
        checksum=result.checksum,
        engine=engine,
        requests=requests,
        notes=plan.notes + notes,
    )

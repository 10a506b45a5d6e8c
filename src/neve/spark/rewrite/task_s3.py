"""What a task does where the files are objects of an S3-compatible store."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from neve.model.errors import ParquetUnsupported
from neve.model.rewrite import SpliceOrder, SpliceReport, SpliceRequirements
from neve.parquet.copy_s3 import splice_in_s3
from neve.parquet.indexes import Source
from neve.parquet.remote import plan_upload
from neve.parquet.requirements import refusal
from neve.parquet.splice import plan_splice
from neve.spark.rewrite.task import load_checked, report_of
from neve.storage.access import Storage
from neve.storage.s3 import S3Reader, S3Store

FOOTERS_AT_ONCE = 16
#: The ends of this many sources are kept, so that their indexes need not be read twice.
TAILS_KEPT = 256
#: A store copies several parts at once, and answers sooner for each.
COPY_BYTES = 256 * 1024 * 1024


def splice_in_store(
    order: SpliceOrder, wanted: SpliceRequirements, storage: Storage, target: str
) -> SpliceReport:
    """Let the store make the order's object out of its sources."""
    if storage.refusal:
        raise ParquetUnsupported(f"{target}: {storage.refusal}.")
    store = S3Store(storage.s3_client())
    readers, sources = _open(order, store)
    if why := refusal([source.footer for source in sources], wanted):
        return SpliceReport(order.group_id, refused=why)
    plan = plan_splice(sources)
    upload = plan_upload(plan, max_part_bytes=COPY_BYTES)
    done = splice_in_s3(plan, upload, store, target, readers, options=storage.upload_options)
    through_task = done.upload.read_bytes
    if done.was_read_back:
        through_task += 2 * plan.copied_bytes
    return report_of(
        order,
        plan,
        done.result,
        target,
        engine="remote_copy" if done.upload.is_copied_by_store else "copy",
        through_task=through_task,
        requests=store.counts.requests,
        notes=done.notes,
    )


def _open(order: SpliceOrder, store: S3Store) -> tuple[list[S3Reader], list[Source]]:
    """All sources, several at a time."""
    keep_tails = len(order.sources) <= TAILS_KEPT

    def open_one(source: tuple[str, int]) -> tuple[S3Reader, Source]:
        path, size_bytes = source
        reader = S3Reader(store, path)
        loaded = load_checked(reader, size_bytes)
        if not keep_tails:
            reader.forget_tail()
        return reader, loaded

    with ThreadPoolExecutor(FOOTERS_AT_ONCE, "splice-open") as pool:
        opened = list(pool.map(open_one, order.sources))
    return [reader for reader, _ in opened], [source for _, source in opened]

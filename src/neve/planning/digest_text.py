"""A day's figures as plain text, for mails and chats."""

from __future__ import annotations

from collections.abc import Iterator

from neve.model.notices import Notice, NoticeKind
from neve.model.sizes import format_size
from neve.planning.digest import Digest, TableDay

#: A message that nobody can read to its end tells nothing.
MAX_TABLES = 50
MAX_FAILURES = 3


def digest_notice(digest: Digest) -> Notice:
    """The day in a few lines, then table by table: those with failures first, then by gain."""
    return Notice(
        NoticeKind.DIGEST,
        f"Neve: what ran on {digest.day.isoformat()}",
        "\n".join([*_summary(digest), *_tables(digest)]),
    )


def _summary(digest: Digest) -> Iterator[str]:
    tables = digest.tables
    if not tables:
        yield "No job ran."
    else:
        jobs, good = sum(t.jobs for t in tables), sum(t.succeeded for t in tables)
        idle, failed = sum(t.nothing_to_do for t in tables), sum(len(t.failures) for t in tables)
        yield (
            f"Jobs: {jobs:,} on {len(tables):,} tables: {good:,} succeeded, {failed:,} failed, "
            f"{idle:,} with nothing to do."
        )
        seconds, usd = sum(t.seconds for t in tables), sum(t.usd for t in tables)
        yield f"Cost: ${usd:,.4f}, {seconds:,.1f} s of work."
        opens, freed = sum(t.file_opens_saved for t in tables), sum(t.bytes_saved for t in tables)
        yield (
            f"Saved: {opens:,} file opens in every full scan "
            f"(${digest.usd_saved_per_full_scan:,.6f} of requests), "
            f"{format_size(freed)} of storage."
        )
    for table, reason in digest.set_aside:
        yield f"Set aside: {table}: {reason}"


def _tables(digest: Digest) -> Iterator[str]:
    ordered = sorted(
        digest.tables, key=lambda t: (-len(t.failures), -t.file_opens_saved, str(t.table))
    )
    shown = [table for table in ordered if table.failures or table.succeeded]
    for table in shown[:MAX_TABLES]:
        yield ""
        yield str(table.table)
        yield from (f"  {line}" for line in _lines(table))
    if len(shown) > MAX_TABLES:
        yield ""
        yield f"And {len(shown) - MAX_TABLES:,} further tables."


def _lines(table: TableDay) -> Iterator[str]:
    if table.files_before is not None and table.files_after is not None:
        change = table.file_reduction_percent
        share = f" ({change:.1f} % fewer)" if change is not None else ""
        yield f"Files: {table.files_before:,} → {table.files_after:,}{share}"
        before, after = table.average_bytes_before, table.average_bytes_after
        if before and after:
            yield (
                f"Average file size: {format_size(int(before))} → {format_size(int(after))} "
                f"({100 * (after - before) / before:+.1f} %), "
                f"target {format_size(table.target_file_size_bytes)}"
            )
        yield f"Total size: {format_size(table.bytes_before)} → {format_size(table.bytes_after)}"
        yield f"Files rewritten: {table.files_compacted:,}"
    if table.snapshots_expired:
        yield f"Snapshots expired: {table.snapshots_expired:,}"
    yield f"Duration: {table.seconds:,.1f} s, cost ${table.usd:,.4f}"
    yield from (f"Failed: {failure}" for failure in table.failures[:MAX_FAILURES])
    if len(table.failures) > MAX_FAILURES:
        yield f"And {len(table.failures) - MAX_FAILURES:,} further failures."

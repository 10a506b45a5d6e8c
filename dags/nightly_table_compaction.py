"""Nightly compaction of streaming tables by submitted Spark applications, and a report about it.

It needs the connections `spark_default` and `iceberg_default`, and sends the report by those of
`smtp_default` and `slack_api_default` that there are (docs/airflow.md). What the report says is
read from the tables' own metadata: from the summaries of the snapshots that Neve committed since
the run began.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseHook, dag, task
from airflow.sdk.exceptions import AirflowNotFoundException

log = logging.getLogger(__name__)
JOB = os.environ.get(
    "NEVE_COMPACT_TABLE_JOB", str(Path(__file__).parents[1] / "jobs" / "compact_table.py")
)
CATALOG = "lakehouse"
EVENTS, CDC_USERS = "production.events", "production.cdc_users"
MAIL, SLACK = "smtp_default", "slack_api_default"
MAIL_TO, CHANNEL = ["data-ops@company.com"], "#data-ops"
MB = 1024 * 1024
#: A query is timed on tables up to this size.
MAX_TIMED_BYTES = 1024 * MB
QUERY_RUNS = 2
#: The day before the one on which the run may begin, whatever the timetable calls it.
YESTERDAY = "{{ macros.ds_add(dag_run.run_after | ds, -1) }}"


@dataclass(frozen=True)
class Compaction:
    """What was committed to a table: files taken out and put in, and how a query fared."""

    files_before: int = 0
    files_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    seconds_before: float | None = None
    seconds_after: float | None = None

    def lines(self) -> list[str]:
        if not self.files_before:
            return ["- Nothing to compact"]
        reduction = 1 - self.files_after / self.files_before
        average = [
            _size(size / files) if files else "0 MB"
            for size, files in (
                (self.bytes_before, self.files_before),
                (self.bytes_after, self.files_after),
            )
        ]
        return [
            f"- Files compacted: {self.files_before:,} → {self.files_after:,} "
            f"({reduction:.0%} reduction)",
            f"- Avg file size: {average[0]} → {average[1]}",
            f"- Query speedup: {self._speedup()}",
        ]

    def _speedup(self) -> str:
        if not self.seconds_before or not self.seconds_after:
            return "not measured"
        ratio = self.seconds_before / self.seconds_after
        times = f"{self.seconds_before:.2f} s → {self.seconds_after:.2f} s"
        return f"{ratio:.1f}x ({times} for one column)"


@dag(
    dag_id="nightly_table_compaction",
    description="Compact streaming tables nightly",
    schedule="0 2 * * *",
    start_date=datetime(2025, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={
        "owner": "data-engineering",
        "depends_on_past": False,
        "email": MAIL_TO,
        "email_on_failure": True,
        "retries": 2,
        "retry_delay": timedelta(minutes=5),
    },
    tags=["maintenance", "compaction", "optimization"],
    doc_md=__doc__,
)
def nightly_table_compaction() -> None:
    compact_events = SparkSubmitOperator(
        task_id="compact_events_table",
        application=JOB,
        name=f"compact-events-{YESTERDAY}",
        conf=_spark_conf(),
        application_args=[
            *("--table", f"{CATALOG}.{EVENTS}"),
            *("--partition", f"event_date = DATE '{YESTERDAY}'"),
            *("--target-size-mb", "128"),
            *("--min-size-mb", "10"),
        ],
    )
    compact_cdc_users = SparkSubmitOperator(
        task_id="compact_cdc_users",
        application=JOB,
        name=f"compact-cdc-users-{YESTERDAY}",
        conf=_spark_conf(),
        # Larger files, because they are rewritten often.
        application_args=["--table", f"{CATALOG}.{CDC_USERS}", "--target-size-mb", "256"],
    )

    @task
    def send_report(dag_run: Any) -> str:
        """Send what was done by mail and to Slack; a channel without a connection is left out."""
        from airflow.providers.apache.iceberg.hooks.iceberg import IcebergHook

        hook = IcebergHook()
        events, users = (
            compaction_of(hook.load_table(name), dag_run.start_date) for name in (EVENTS, CDC_USERS)
        )
        title = f"Nightly Compaction Report - {dag_run.run_after:%Y-%m-%d}"
        text = report(title, events, users)
        if is_connected(MAIL):
            _mail(title, text)
        if is_connected(SLACK):
            _slack(text)
        return text

    [compact_events, compact_cdc_users] >> send_report()


def _spark_conf() -> dict[str, str]:
    """The catalog of the tables; its storage is configured where Spark is."""
    catalog = f"spark.sql.catalog.{CATALOG}"
    return {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "rest",
        f"{catalog}.uri": "{{ conn.iceberg_default.host }}",
        # A cached table may be stale for as long as somebody asks for it.
        f"{catalog}.cache-enabled": "false",
    }


def compaction_of(table: Any, since: datetime) -> Compaction:
    """What Neve committed to the table since that moment, by the summaries of its snapshots."""
    begun_ms = int(since.timestamp() * 1000)
    ours = [
        snapshot
        for snapshot in table.metadata.snapshots
        if snapshot.timestamp_ms >= begun_ms and "neve.job-id" in (snapshot.summary or {})
    ]

    def total(name: str) -> int:
        return sum(_count(snapshot, name) for snapshot in ours)

    if not total("deleted-data-files"):
        return Compaction()
    before, after = _query_seconds(table, ours[0].parent_snapshot_id, ours[-1].snapshot_id)
    return Compaction(
        total("deleted-data-files"),
        total("added-data-files"),
        total("removed-files-size"),
        total("added-files-size"),
        before,
        after,
    )


def _query_seconds(table: Any, before: int | None, after: int) -> tuple[float | None, float | None]:
    """How long one column takes to read, on both sides of a compaction; None for large tables."""
    size_bytes = _count(table.snapshot_by_id(after), "total-files-size")
    if before is None or size_bytes > MAX_TIMED_BYTES:
        return None, None
    column = table.schema().fields[0].name

    def timed(snapshot_id: int) -> float:
        begun = time.perf_counter()
        table.scan(snapshot_id=snapshot_id, selected_fields=(column,)).to_arrow()
        return time.perf_counter() - begun

    # In turns, and the best of each: what one leaves in a cache serves the other.
    runs = [(timed(before), timed(after)) for _ in range(QUERY_RUNS)]
    return min(run[0] for run in runs), min(run[1] for run in runs)


def _count(snapshot: Any, name: str) -> int:
    """A figure of a summary, which leaves out what is zero."""
    return int(snapshot.summary.get(name) or 0)


def report(title: str, events: Compaction, users: Compaction) -> str:
    lines = [
        f"📊 {title}",
        *("", "Events table:", *events.lines()),
        *("", "CDC tables:", *users.lines()),
        *("", "✅ All tables optimized"),
    ]
    return "\n".join(lines)


def _size(size_bytes: float) -> str:
    return f"{size_bytes / MB:.0f} MB" if size_bytes >= MB else f"{size_bytes / 1024:.1f} KB"


def is_connected(connection: str) -> bool:
    try:
        BaseHook.get_connection(connection)
    except AirflowNotFoundException:
        log.info("There is no connection %s: the report does not go there.", connection)
        return False
    return True


def _mail(title: str, text: str) -> None:
    from airflow.providers.smtp.hooks.smtp import SmtpHook

    with SmtpHook(MAIL) as hook:
        hook.send_email_smtp(to=MAIL_TO, subject=title, html_content=f"<pre>{text}</pre>")


def _slack(text: str) -> None:
    from airflow.providers.slack.hooks.slack import SlackHook

    SlackHook(slack_conn_id=SLACK).client.chat_postMessage(channel=CHANNEL, text=text)


nightly_table_compaction()

"""Every figure that /metrics tells."""

from __future__ import annotations

from datetime import UTC, datetime

from page_parts import code, table
from prometheus_client.parser import text_string_to_metric_families

from neve.api.metrics import exposition
from neve.model.figures import DURATION_BOUNDS_SECONDS, Durations, Figures, TableFigures
from neve.model.job import JobState
from neve.model.operation import Operation
from neve.model.table import TableRef

INTRODUCTION = """\
# Metrics

`GET /metrics` of a server, in the text format of Prometheus. The figures are those of the state:
every API process tells the same, so that they are taken once (`max by (job, …)`) and not added up.
`deploy/prometheus` has recording and alert rules over them, `deploy/grafana` a dashboard.
"""


def sample() -> Figures:
    """Figures in which every metric has a value."""
    operation = Operation.REWRITE_DATA_FILES
    taken = Durations((1,) * len(DURATION_BOUNDS_SECONDS), 1, 0.5)
    newest = TableFigures(
        TableRef("lake", ("demo",), "events"), operation, JobState.SUCCEEDED,
        datetime(2026, 1, 1, tzinfo=UTC), 1, 1, 1,
    )  # fmt: skip
    return Figures(
        ended={(operation, state): 1 for state in (JobState.SUCCEEDED, JobState.FAILED)},
        durations={operation: taken},
        files_compacted=1,
        bytes_rewritten=1,
        queued=1,
        begun=1,
        dead=1,
        set_aside=1,
        workers=1,
        workers_ready=1,
        tables=(newest,),
    )


def page() -> str:
    rows = []
    for family in text_string_to_metric_families(exposition(sample()).decode()):
        labels = {name for one in family.samples for name in one.labels if name != "le"}
        suffix = "_total" if family.type == "counter" else ""
        rows.append(
            (
                code(family.name + suffix),
                family.type,
                ", ".join(code(label) for label in sorted(labels)),
                family.documentation,
            )
        )
    return INTRODUCTION + "\n" + table(("metric", "type", "labels", "meaning"), rows)

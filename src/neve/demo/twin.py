"""A twin of the demo's table, which Iceberg's own procedure compacts."""

from __future__ import annotations

import time
from dataclasses import dataclass

from neve.app import App
from neve.model.facts import TableFacts
from neve.model.outcome import Outcome
from neve.model.table import TableRef

TWIN_NAME = "events_by_iceberg"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two tables of the same rows, one after Neve and one after Iceberg's procedure."""

    twin: TableRef
    #: From the call to the end of each; the procedure runs second, in a JVM that is warm.
    neve_seconds: float
    iceberg_seconds: float
    neve_files: int
    iceberg_files: int
    neve_bytes: int
    iceberg_bytes: int
    #: Whether both hold the same rows.
    has_same_rows: bool

    @property
    def speedup(self) -> float:
        """How many times longer the procedure took."""
        return self.iceberg_seconds / max(self.neve_seconds, 1e-9)


def twin_of(table: TableRef) -> TableRef:
    """Where the twin lies."""
    return TableRef(table.catalog, table.namespace, TWIN_NAME)


def compare(
    app: App, table: TableRef, outcome: Outcome, neve_seconds: float, target_bytes: int
) -> Comparison:
    """Let Iceberg compact the twin, and hold the two tables against each other."""
    from neve.spark import samples

    session, twin = app.spark.session, twin_of(table)
    app.maintenance.reporter("Compacting a twin by Iceberg's rewrite_data_files …")
    started = time.perf_counter()
    samples.rewrite_by_iceberg(session, twin, target_bytes)
    seconds = time.perf_counter() - started
    theirs = app.maintenance.surveyor.survey(twin)
    sums = [samples.row_sum(session, each) for each in (table, twin)]
    return Comparison(
        twin,
        neve_seconds,
        seconds,
        outcome.stats.files_after or 0,
        len(theirs.data_files),
        outcome.stats.bytes_after,
        _bytes(theirs),
        sums[0] == sums[1],
    )


def _bytes(facts: TableFacts) -> int:
    return sum(file.size_bytes for file in facts.data_files)

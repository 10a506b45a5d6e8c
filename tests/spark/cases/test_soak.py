"""A writer in every file, again and again: every compaction gets through, and every row is right.

`benchmarks/soak.py` is the same by the clock, with a writer in a process of its own.
"""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from tests.spark.cases.test_rebase_phases import BY_DELETE_FILES, around

from neve.model.facts import REBASED_FROM_PROPERTY
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.spark.tables import activate

pytestmark = pytest.mark.promise(1, 3)

ROWS, ROUNDS, STRIDE = 200, 4, 25


class EveryFile:
    """Deletes a row in every file and updates another one, and knows what must be left."""

    def __init__(self, lake, table) -> None:
        self.lake, self.table = lake, table
        self.values = {number: f"k{number % 2}" for number in range(ROWS)}
        self.number = self.retries = 0

    def write(self) -> None:
        gone, new = self.number, self.number + ROUNDS
        self.number += 1
        self._run(f"DELETE FROM {self.table} WHERE id % {STRIDE} = {gone}")
        self.values = {n: v for n, v in self.values.items() if n % STRIDE != gone}
        self._run(f"UPDATE {self.table} SET kind = 'new' WHERE id % {STRIDE} = {new}")
        self.values |= {n: "new" for n in self.values if n % STRIDE == new}

    def _run(self, statement: str) -> None:
        for _ in range(20):
            try:
                self.lake.sql(statement)
            except (Py4JJavaError, PySparkException):
                self.retries += 1
            else:
                return
        raise AssertionError(f"Nothing lets the writer through: {statement}")

    @property
    def rows(self) -> Counter[tuple[int, str]]:
        return Counter(self.values.items())


@pytest.fixture(params=[2, 3])
def table(lake, request):
    table = lake.create(version=request.param, properties=BY_DELETE_FILES)
    lake.fill(table, files=4, rows=ROWS)
    return table


def compact(lake, table):
    return lake.app.maintenance.compact(
        table, RewriteDataFilesArguments(), policy=CompactionPolicy()
    )


def rows_of(lake, table) -> Counter[tuple[int, str]]:
    found = lake.sql(f"SELECT id, kind FROM {table}").collect()
    return Counter((row.id, row.kind) for row in found)


def test_a_writer_in_every_file_before_every_commit(lake, table, monkeypatch):
    writer = EveryFile(lake, table)
    engine = lake.app.spark
    monkeypatch.setattr(engine, "run_tasks", around(engine.run_tasks, after=writer.write))

    for _ in range(ROUNDS):
        outcome = compact(lake, table)

        assert (outcome.status, outcome.conflicts) == (Status.SUCCEEDED, 0), outcome.reason
        assert "planned again" not in outcome.reason
        assert REBASED_FROM_PROPERTY in lake.head(table).summary
        assert rows_of(lake, table) == writer.rows
    assert (writer.number, writer.retries) == (ROUNDS, 0)


def test_a_writer_that_waits_for_nobody(lake, table):
    writer, failed = EveryFile(lake, table), []

    def write_all() -> None:
        # Iceberg asks for the session of its thread.
        activate(lake.session)
        try:
            for _ in range(ROUNDS):
                writer.write()
        except BaseException as error:
            failed.append(error)
            raise

    thread = threading.Thread(target=write_all, name="writer")
    thread.start()
    outcomes = []
    while thread.is_alive() and len(outcomes) < 10 * ROUNDS:
        outcomes.append(compact(lake, table))
    thread.join()

    assert not failed
    assert outcomes
    for outcome in outcomes:
        assert outcome.status in (Status.SUCCEEDED, Status.NOTHING_TO_DO), outcome.reason
        assert outcome.conflicts == 0, outcome.reason
    assert rows_of(lake, table) == writer.rows

"""A writer that appends, deletes and updates, merge-on-read, about once a second.

It keeps in mind what the table must hold, and tries a write again until it gets through. Started by
busy_writer.py and soak.py as a process of its own, because that is what writers are.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from neve.spark.session import build_session

#: Rows that an append brings, and ids that a delete or an update touches.
BATCH = 50
PARTITIONS = 4
#: Of so many ids in a row, one is touched by a write that goes everywhere.
STRIDE = 499


class Writer:
    """The table as it must be, and the writes that make it so."""

    def __init__(self, session: SparkSession, table: str, rows: int) -> None:
        self.session = session
        self.table = table
        self.values = dict.fromkeys(range(rows), 0)
        self.next_id = rows
        self.random = random.Random(7)
        self.writes = self.retries = 0

    def write(self) -> None:
        """One write of the three kinds in turn, tried until it is in."""
        kind = (self.append, self.delete, self.update)[self.writes % 3]
        kind()
        self.writes += 1

    def append(self) -> None:
        first, last = self.next_id, self.next_id + BATCH
        self._run(
            f"INSERT INTO {self.table} SELECT id, cast(id % {PARTITIONS} AS int), 0L "
            f"FROM range({first}, {last}, 1, 1)"
        )
        self.values |= dict.fromkeys(range(first, last), 0)
        self.next_id = last

    def delete(self) -> None:
        first = self._somewhere()
        self._run(f"DELETE FROM {self.table} WHERE id >= {first} AND id < {first + 5}")
        for number in range(first, first + 5):
            self.values.pop(number, None)

    def update(self) -> None:
        first = self._somewhere()
        self._run(f"UPDATE {self.table} SET v = v + 1 WHERE id >= {first} AND id < {first + 5}")
        for number in range(first, first + 5):
            if number in self.values:
                self.values[number] += 1

    def _somewhere(self) -> int:
        return self.random.randrange(self.next_id)

    def _run(self, statement: str) -> None:
        while True:
            try:
                self.session.sql(statement)
            except (Py4JJavaError, PySparkException):
                self.retries += 1
            else:
                return


class WriterEverywhere(Writer):
    """Deletes rows of every file and updates others of every file, with each write."""

    def write(self) -> None:
        gone, new = self.random.sample(range(STRIDE), 2)
        self._run(f"DELETE FROM {self.table} WHERE id % {STRIDE} = {gone}")
        for number in [number for number in self.values if number % STRIDE == gone]:
            del self.values[number]
        self._run(f"UPDATE {self.table} SET v = v + 1 WHERE id % {STRIDE} = {new}")
        for number in self.values:
            self.values[number] += number % STRIDE == new
        self.writes += 1


WRITERS = {"somewhere": Writer, "everywhere": WriterEverywhere}


def main() -> None:
    catalogs, table, rows, pace, folder, kind = json.loads(sys.argv[1])
    session = build_session(
        catalogs, master="local[1]", conf={"spark.driver.memory": "1g"}, reporter=lambda _: None
    )
    session.sparkContext.setLogLevel("OFF")
    writer, stop = WRITERS[kind](session, table, rows), Path(folder) / "stop"
    for _ in range(3):
        writer.write()
    writer.retries = writer.writes = 0
    (Path(folder) / "ready").touch()
    started, parent = time.monotonic(), os.getppid()
    # Without its parent nobody would ever stop it.
    while not stop.exists() and os.getppid() == parent:
        due = started + (writer.writes + 1) * pace
        writer.write()
        time.sleep(max(0.0, due - time.monotonic()))
    answer = {"writes": writer.writes, "retries": writer.retries, "rows": writer.values}
    (Path(folder) / "answer.json").write_text(json.dumps(answer), encoding="utf-8")
    session.stop()


if __name__ == "__main__":
    main()

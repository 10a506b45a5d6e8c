"""Count rows where they are read, on their way to the writer: it costs no second read."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

#: Spark tells what it observed through its bus of listeners, a moment after the job. Each look
#: waits a tenth of a second for it.
LOOKS = 30


class RowCount:
    """What the scan handed out, and not what the writer says that it wrote.

    Tasks that fail are not counted, and a task that runs twice is counted once.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        jvm: Any = session._jvm
        self._observation = jvm.org.apache.spark.sql.Observation()

    def of(self, frame: Any) -> Any:
        """The same rows, counted as they pass."""
        jvm: Any = self._session._jvm
        gateway: Any = self._session.sparkContext._gateway
        functions = jvm.org.apache.spark.sql.functions
        nothing_more = gateway.new_array(jvm.org.apache.spark.sql.Column, 0)
        rows = functions.count(functions.lit(1)).alias("rows")
        return frame.observe(self._observation, rows, nothing_more)

    def seen(self) -> int | None:
        """Rows that passed; None where Spark does not tell in time."""
        for _ in range(LOOKS):
            row = self._observation.getRowOrEmpty()
            if row.isDefined():
                return int(row.get().getLong(0))
        return None

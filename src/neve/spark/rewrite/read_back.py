"""Rows that Spark reads, as a fingerprint: the same number as tasks of ours make of the same rows.

Iceberg's own reader reads what is replaced and what was written, each with its deletes; the rows
pass to Python in Arrow's batches, and only sums come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame

from neve.rows.fingerprint import Fingerprint, fingerprint
from neve.rows.schema import Schema, parse_schema
from neve.spark.tables import iceberg

_SUMS = "rows BIGINT, total STRING"


def reading_session(clone: Any) -> Any:
    """A session whose moments are told in UTC, as Iceberg stores them."""
    session = clone.cloneSession()
    session.conf().set("spark.sql.session.timeZone", "UTC")
    return session


def schema_of(session: SparkSession, loaded: Any) -> Schema:
    """The table's current schema."""
    return parse_schema(str(iceberg(session).SchemaParser.toJson(loaded.schema())))


def scan_tasks(session: SparkSession, loaded: Any, files: Any) -> Any:
    """Tasks that read these data files whole, of which no snapshot knows yet: no delete applies."""
    jvm: Any = session._jvm
    gateway: Any = session.sparkContext._gateway
    package = iceberg(session)
    everything = package.expressions.Expressions.alwaysTrue()
    residuals = package.expressions.ResidualEvaluator.unpartitioned(everything)
    schema = package.SchemaParser.toJson(loaded.schema())
    deletes = gateway.new_array(package.DeleteFile, 0)
    tasks = jvm.java.util.ArrayList()
    for file in files:
        spec = package.PartitionSpecParser.toJson(loaded.specs().get(file.specId()))
        tasks.add(package.BaseFileScanTask(file, deletes, schema, spec, residuals))
    return tasks


def fingerprint_of(session: SparkSession, frame: Any, schema: Schema) -> Fingerprint:
    """Of all rows of a Java frame that has the columns of the schema, row ids where it has them."""
    rows = DataFrame(frame, session)
    with_ids = schema.with_lineage()
    found = set(rows.columns)
    stored = with_ids if all(field.name in found for field in with_ids.fields) else schema
    sums = rows.mapInArrow(partial(_sums, schema=stored), _SUMS).collect()
    total = Fingerprint()
    for one in sums:
        total += Fingerprint(one["rows"], int(one["total"], 16))
    return total


def _sums(batches: Iterable[Any], schema: Schema) -> Iterator[Any]:
    total = Fingerprint()
    for batch in batches:
        total += fingerprint(pa.Table.from_batches([batch]), schema)
    yield pa.RecordBatch.from_pydict({"rows": [total.rows], "total": [f"{total.total:x}"]})

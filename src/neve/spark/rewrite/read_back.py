"""Rows that Spark reads, as a fingerprint: the same number as tasks of ours make of the same rows.

Iceberg's own reader reads what is replaced and what was written, each with its deletes; the rows
pass to Python in Arrow's batches, and only sums come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.udf import _create_udf
from pyspark.util import PythonEvalType

from neve.rows.fingerprint import Fingerprint, fingerprint
from neve.rows.schema import LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID, Schema, parse_schema
from neve.spark.tables import iceberg

_SUMS = "rows BIGINT, total STRING"
#: Row ids from here on are inherited, which means that the file stores none.
INHERITED = 2**62
_GIVEN_BY_COMMIT = frozenset({"setFirstRowId", "setDataSequenceNumber", "setFileSequenceNumber"})
_LINEAGE = (ROW_ID, LAST_UPDATED_SEQUENCE_NUMBER)


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
        read = _as_if_committed(session, file)
        tasks.add(package.BaseFileScanTask(read, deletes, schema, spec, residuals))
    return tasks


def _as_if_committed(session: SparkSession, file: Any) -> Any:
    """A copy of the file with numbers that a commit gives, without which no row id is read."""
    jvm: Any = session._jvm
    gateway: Any = session.sparkContext._gateway
    copy = file.copy()
    number = gateway.new_array(jvm.java.lang.Object, 1)
    number[0] = jvm.java.lang.Long.valueOf(INHERITED)
    for method in copy.getClass().getMethods():
        if method.getName() in _GIVEN_BY_COMMIT and method.getParameterCount() == 1:
            method.setAccessible(True)
            method.invoke(copy, number)
    return copy


def fingerprint_of(session: SparkSession, frame: Any, schema: Schema) -> Fingerprint:
    """Of all rows of a Java frame that has the columns of the schema, row ids where it has them."""
    rows = DataFrame(frame, session)
    with_ids = schema.with_lineage()
    found = set(rows.columns)
    stored = with_ids if all(field.name in found for field in with_ids.fields) else schema
    total = Fingerprint()
    for one in _mapped(session, rows, partial(_sums, schema=stored)).collect():
        total += Fingerprint(one["rows"], int(one["total"], 16))
    return total


def _mapped(session: SparkSession, rows: DataFrame, work: Any) -> DataFrame:
    """What `mapInArrow` does, which asks for pandas and needs none, and takes dots for levels."""
    mapped: Any = _create_udf(work, _SUMS, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
    names = ["`" + name.replace("`", "``") + "`" for name in rows.columns]
    column = mapped(*(rows[name] for name in names))
    return DataFrame(rows._jdf.mapInArrow(column._jc, False, None), session)


def _sums(batches: Iterable[Any], schema: Schema) -> Iterator[Any]:
    total = Fingerprint()
    for batch in batches:
        total += fingerprint(_stored(pa.Table.from_batches([batch]), schema), schema)
    yield pa.RecordBatch.from_pydict({"rows": [total.rows], "total": [f"{total.total:x}"]})


def _stored(table: Any, schema: Schema) -> Any:
    """The rows with nulls for row ids that no file stores."""
    for field in (each for each in schema.fields if each.id in _LINEAGE):
        ids = table.column(field.name)
        if pc.any(pc.greater_equal(ids, INHERITED)).as_py():
            known = pc.if_else(pc.less(ids, INHERITED), ids, None)
            table = table.set_column(table.column_names.index(field.name), field.name, known)
    return table

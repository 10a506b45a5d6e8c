"""Many values across to the JVM in one call: each py4j call costs about half a millisecond."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from neve.spark.once import once_per_session


def java_strings(session: SparkSession, values: Sequence[str]) -> Any:
    """The texts as a `java.util.List<String>`."""
    mapper, kind = _reader(session)
    return mapper.readValue(json.dumps(list(values)), kind)


@once_per_session
def _reader(session: SparkSession) -> tuple[Any, Any]:
    jvm: Any = session._jvm
    mapper = jvm.org.apache.iceberg.shaded.com.fasterxml.jackson.databind.ObjectMapper()
    return mapper, jvm.java.lang.Class.forName("java.util.ArrayList")


def java_string_set(session: SparkSession, values: Sequence[str]) -> Any:
    """The texts as a `java.util.Set<String>`."""
    jvm: Any = session._jvm
    return jvm.java.util.HashSet(java_strings(session, values))


def java_string_array(session: SparkSession, values: Sequence[str]) -> Any:
    """A few texts, such as names of columns, as a `String[]`: each is a call."""
    jvm: Any = session._jvm
    gateway: Any = session.sparkContext._gateway
    array = gateway.new_array(jvm.java.lang.String, len(values))
    for index, value in enumerate(values):
        array[index] = value
    return array

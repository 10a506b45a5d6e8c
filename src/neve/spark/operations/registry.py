"""Which function runs which step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from neve.model.table import TableRef

#: Takes the session, the table, the step, and properties for the snapshot that it commits.
Executor = Callable[[SparkSession, TableRef, Any, Mapping[str, str]], None]
EXECUTORS: dict[type, Executor] = {}

"""What is looked up in a JVM once: each step of a name like `org.apache.iceberg` is a call."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

Found = TypeVar("Found")


def once_per_session(look_up: Callable[[SparkSession], Found]) -> Callable[[SparkSession], Found]:
    """Remember the answer for as long as the session lives; it must not hold the session."""
    found: WeakKeyDictionary[SparkSession, Found] = WeakKeyDictionary()

    @wraps(look_up)
    def remembered(session: SparkSession) -> Found:
        if session not in found:
            found[session] = look_up(session)
        return found[session]

    return remembered

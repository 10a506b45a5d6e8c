"""A JVM for tables of a few rows."""

from __future__ import annotations

#: A compiler that starts fast; room for all that it compiles in a run of hundreds of tests, which
#: is thrown out and compiled again otherwise; and for all classes, without a look through the heap.
OPTIONS = (
    "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -XX:MetaspaceSize=256m"
)

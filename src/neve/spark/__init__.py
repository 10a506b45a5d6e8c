"""Runs maintenance on Spark. The only folder that imports pyspark."""

from __future__ import annotations

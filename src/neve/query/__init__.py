"""Answers queries on rows that were read. The only folder that imports duckdb."""

from __future__ import annotations

"""One file per operation: how it runs on Spark."""

from __future__ import annotations

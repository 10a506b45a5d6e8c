"""Neve keeps Apache Iceberg tables fast and cheap."""

from __future__ import annotations

__version__ = "0.1.0"

"""Maintenance of Apache Iceberg tables by a Neve server, as tasks of Apache Airflow."""

from __future__ import annotations

__version__ = "0.2.0"

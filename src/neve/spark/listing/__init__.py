"""Lists the files of a table's location, folder by folder, in Spark's tasks."""

from __future__ import annotations

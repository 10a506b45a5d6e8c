"""Lists the files of a table's location, folder by folder."""

from __future__ import annotations

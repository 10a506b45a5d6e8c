"""One file per operation: when it is due, and on which files."""

from __future__ import annotations

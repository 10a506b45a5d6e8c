"""DAGs to copy from."""

from __future__ import annotations

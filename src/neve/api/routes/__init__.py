"""Routes, a file for each resource."""

from __future__ import annotations

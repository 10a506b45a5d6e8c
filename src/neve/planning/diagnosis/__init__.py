"""Judges a table's metadata by itself and by storage: values in, findings out."""

from __future__ import annotations

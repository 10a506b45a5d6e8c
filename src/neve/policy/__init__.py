"""Policies: documents, layers, and the effective policy of one table."""

from __future__ import annotations

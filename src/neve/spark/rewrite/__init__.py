"""Rewriting without decoding: distribution over Spark's tasks, and one bulk commit."""

from __future__ import annotations

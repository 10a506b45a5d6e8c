"""The demo: a table falls ill, is judged, is cured, and is shown to hold the same rows."""

from __future__ import annotations

from neve.demo.story import FileMetrics, Story, Validation, tell_story
from neve.demo.twin import Comparison

__all__ = ["Comparison", "FileMetrics", "Story", "Validation", "tell_story"]

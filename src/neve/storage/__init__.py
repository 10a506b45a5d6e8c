"""What names of files mean where the files are."""

from __future__ import annotations

"""Notices on their way to people. The only importer of apprise."""

from __future__ import annotations

"""In-memory twins of the ports and builders of values, for tests of Neve and of what uses it."""

from __future__ import annotations

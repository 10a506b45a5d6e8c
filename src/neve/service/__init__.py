"""The use cases; they see ports, never engines."""

from __future__ import annotations

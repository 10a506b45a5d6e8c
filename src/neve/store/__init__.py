"""Remembers jobs, leases and outcomes."""

from __future__ import annotations

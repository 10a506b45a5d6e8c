"""A thin, typed client of a Neve server. It needs `neve[client]`, and nothing of a server."""

from __future__ import annotations

from neve.client.client import NeveClient
from neve.client.values import Event, Job, Plan, Progress, QueuedJob

__all__ = ["Event", "Job", "NeveClient", "Plan", "Progress", "QueuedJob"]

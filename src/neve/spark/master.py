"""Where Spark's tasks run, by the name of its master. Tasks import it: it needs nothing else."""

from __future__ import annotations


def is_local(master: str) -> bool:
    """Whether driver and tasks are one JVM; `local-cluster[…]` has others."""
    return master == "local" or master.startswith("local[")

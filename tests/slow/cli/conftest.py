from __future__ import annotations

from tests.edges.cli.conftest import engine, events, lake, no_engine, run, run_json

__all__ = ["engine", "events", "lake", "no_engine", "run", "run_json"]

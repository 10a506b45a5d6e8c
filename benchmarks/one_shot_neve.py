"""`neve compact` as a program of its own, which tells where its seconds went.

python benchmarks/one_shot_neve.py PHASES_JSON CONFIG NAMESPACE.TABLE
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

BEGUN = time.perf_counter()
PHASES: dict[str, float] = defaultdict(float)


def timed(owner: Any, name: str, phase: str) -> None:
    """Count the seconds of a call, those of calls within it that are counted taken off."""
    work: Callable[..., Any] = getattr(owner, name)

    def call(*arguments: Any, **options: Any) -> Any:
        inner, started = sum(PHASES.values()), time.perf_counter()
        try:
            return work(*arguments, **options)
        finally:
            seconds = time.perf_counter() - started
            PHASES[phase] += seconds - (sum(PHASES.values()) - inner)

    setattr(owner, name, call)


def main() -> None:
    told, config, table = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    from neve.app import App
    from neve.catalog.maintenance_log import CatalogLog
    from neve.catalog.metadata_commit import CatalogMetadataWriter
    from neve.catalog.surveyor import CatalogSurveyor
    from neve.cli.main import app
    from neve.service.operations import rewrite_data_files
    from neve.spark.engine import SparkEngine

    PHASES["imports"] = time.perf_counter() - BEGUN
    for owner, names, phase in (
        (CatalogSurveyor, ("survey", "outline", "copy_inputs"), "catalog"),
        (CatalogMetadataWriter, ("commit",), "tag"),
        (rewrite_data_files, ("make_plan",), "plan"),
        (SparkEngine, ("warm_up",), "session"),
        (SparkEngine, ("run_tasks", "stage", "rewrite"), "stage/copy"),
        (SparkEngine, ("replace_files", "commit_staged"), "commit"),
        (SparkEngine, ("live_rows",), "verify"),
        (CatalogLog, ("write",), "log row"),
        (App, ("stop",), "stop"),
    ):
        for name in names:
            timed(owner, name, phase)
    try:
        app(["compact", table, "--config", config, "-o", "json"])
    finally:
        all_s = time.perf_counter() - BEGUN
        PHASES["rest"] = all_s - sum(PHASES.values())
        told.write_text(json.dumps(PHASES), encoding="utf-8")


if __name__ == "__main__":
    main()

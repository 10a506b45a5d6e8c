"""How long survey, assess and plan take, by the number of files. No data, no JVM.

    python benchmarks/planning.py [--json]

Each size is planned in a process of its own, warmed by a small plan: peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import add_options, tell
from synthetic import make_table

SIZES = ((1_000, 10), (10_000, 100), (30_000, 300), (100_000, 1_000))


def measure(folder: Path, name: str) -> dict[str, float]:
    """Plan one table in this process, after a small one."""
    from neve.app import build_app
    from neve.model.policies import RewriteDataFilesArguments
    from neve.model.policy import CompactionPolicy
    from neve.settings import Settings
    from neve.testing.lake import SilentReporter

    settings = Settings(
        catalogs={
            "lake": {
                "type": "sql",
                "uri": f"sqlite:///{folder}/catalog.db",
                "warehouse": (folder / "warehouse").as_uri(),
            }
        },
        state={"url": f"sqlite:///{folder}/state.db"},
    )
    app = build_app(settings, SilentReporter())
    maintenance = app.maintenance
    seconds = {}
    for table in ("bench.warm", f"bench.{name}"):
        cpu, wall = time.process_time(), time.perf_counter()
        plan = maintenance.plan(
            app.catalogs.parse(table), RewriteDataFilesArguments(), policy=CompactionPolicy()
        )
        seconds = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    return {
        **seconds,
        "groups": len(plan.groups),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def run(folder: Path) -> list[dict[str, float]]:
    make_table(folder, "warm", files=100, manifests=2)
    rows = []
    for files, manifests in SIZES:
        make_table(folder, f"t{files}", files=files, manifests=manifests)
        answer = subprocess.run(
            [sys.executable, __file__, "--measure", str(folder), f"t{files}"],
            check=True,
            capture_output=True,
            text=True,
        )
        row = {"files": files, "manifests": manifests, **json.loads(answer.stdout)}
        row["us_per_file"] = row["wall_s"] / files * 1e6
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--measure", nargs=2, metavar=("FOLDER", "TABLE"))
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(Path(arguments.measure[0]), arguments.measure[1])))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = run(Path(folder))
    lines = [
        f"{'files':>8} {'manifests':>9} {'wall s':>8} {'cpu s':>8} {'µs/file':>8} {'peak MB':>8}"
    ]
    lines += [
        f"{row['files']:>8} {row['manifests']:>9} {row['wall_s']:>8.2f} {row['cpu_s']:>8.2f} "
        f"{row['us_per_file']:>8.0f} {row['peak_mb']:>8.0f}"
        for row in rows
    ]
    tell(arguments, rows, "\n".join(lines))


if __name__ == "__main__":
    main()

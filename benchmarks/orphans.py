"""How long a dry run of the orphan sweep takes, and what memory: list, walk, compare, ask again.

    python benchmarks/orphans.py [--files 1000000] [--json]

Makes a table with that many real, tiny files in 1,000 folders; one file in twenty is an orphan.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import uuid
from dataclasses import asdict
from pathlib import Path

from process_tree import measured
from report import add_options, tell
from synthetic import make_table

FOLDERS = 1_000
FILES_PER_MANIFEST = 10_000
ONE_ORPHAN_IN = 20
WEEK_SECONDS = 7 * 86400
CONF = {"spark.driver.memory": "768m", "spark.ui.enabled": "false"}


def make_files(folder: Path, files: int) -> int:
    """The data files that the metadata names, and the orphans among them; returns the orphans."""
    then = time.time() - WEEK_SECONDS
    data = folder / "warehouse" / "bench" / "events" / "data"
    days = [data / f"day=day-{number:04d}" for number in range(FOLDERS)]
    for day in days:
        day.mkdir(parents=True)
    orphans = files // ONE_ORPHAN_IN
    names = (f"{number:08d}-{uuid.UUID(int=number)}.parquet" for number in range(files))
    strays = (f"{number:08d}-stray.parquet" for number in range(orphans))
    for group in (names, strays):
        for number, name in enumerate(group):
            path = os.path.join(days[number % FOLDERS], name)
            descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
            os.write(descriptor, b"x")
            os.close(descriptor)
            os.utime(path, (then, then))
    return orphans


def run(folder: Path, files: int) -> dict[str, float]:
    from neve.app import build_app
    from neve.model.orphans import OrphanRules
    from neve.service.operations.remove_orphan_files import find_orphans
    from neve.settings import Settings, SparkSettings
    from neve.testing.lake import SilentReporter

    manifests = max(1, files // FILES_PER_MANIFEST)
    began = time.perf_counter()
    make_table(folder, "events", files=files, manifests=manifests, columns=2, partitions=FOLDERS)
    orphans = make_files(folder, files)
    made_s = time.perf_counter() - began
    print(f"{files} files and {orphans} orphans were made in {made_s:.0f} s.", file=sys.stderr)
    settings = Settings(
        catalogs={
            "lake": {
                "type": "sql",
                "uri": f"sqlite:///{folder}/catalog.db",
                "warehouse": (folder / "warehouse").as_uri(),
            }
        },
        state={"url": f"sqlite:///{folder}/state.db"},
        spark=SparkSettings(master="local[2]", conf=CONF),
    )
    app = build_app(settings, SilentReporter())
    table = app.catalogs.parse("bench.events")
    try:
        with measured() as usage:
            app.spark.session.range(1).count()
            session_s = time.perf_counter()
            report = find_orphans(app.maintenance, table, OrphanRules())
            sweep_s = time.perf_counter() - session_s
    finally:
        app.stop()
    assert report.found.files == orphans, report.found
    figures = {key: value for key, value in asdict(usage).items() if key != "kinds"}
    return {"files": report.listed.files, "orphans": orphans, "sweep_s": sweep_s, **figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000_000)
    add_options(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # Removing a million files takes minutes, so the figures are said before.
        row = run(Path(folder).resolve(), arguments.files)
        lines = [f"{name:<18} {value:>12,.1f}" for name, value in row.items()]
        tell(arguments, row, "\n".join(lines))
        sys.stdout.flush()


if __name__ == "__main__":
    main()

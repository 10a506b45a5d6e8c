"""How long `neve health` takes from a cold start, on a table shaped like the demo's.

    python benchmarks/cold_start.py [--json]

The demo's table has 250 files in 50 manifests. Child processes are watched: none may be a JVM.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil

from report import add_options, tell
from synthetic import make_table

RUNS = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_table(folder, "events", files=250, manifests=50, columns=7, partitions=5)
        config = folder / "neve.yaml"
        config.write_text(
            "catalogs: {lake: {type: sql, uri: 'sqlite:///catalog.db', warehouse: warehouse}}\n"
        )
        runs = [_run(config) for _ in range(RUNS)]
    result = {
        "median_s": median(seconds for seconds, _ in runs),
        "worst_s": max(seconds for seconds, _ in runs),
        "jvms_started": sum(jvms for _, jvms in runs),
        "runs": RUNS,
    }
    tell(
        arguments,
        result,
        f"neve health, cold: median {result['median_s']:.2f} s, "
        f"worst {result['worst_s']:.2f} s of {RUNS} runs, {result['jvms_started']} JVMs started",
    )


def _run(config: Path) -> tuple[float, int]:
    command = [str(Path(sys.executable).parent / "neve"), "health", "bench.events", "-o", "json"]
    started = time.perf_counter()
    process = subprocess.Popen([*command, "--config", str(config)], stdout=subprocess.DEVNULL)
    jvms: set[int] = set()
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        try:
            children = watched.children(recursive=True)
            jvms |= {child.pid for child in children if child.name() == "java"}
        except psutil.NoSuchProcess:
            break
        time.sleep(0.02)
    if process.wait() != 0:
        raise SystemExit("neve health failed")
    return time.perf_counter() - started, len(jvms)


if __name__ == "__main__":
    main()

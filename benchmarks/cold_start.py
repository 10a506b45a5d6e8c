"""How long `neve health` takes from a cold start, on a table shaped like the demo's; and Spark.

    python benchmarks/cold_start.py [--json]

The demo's table has 250 files in 50 manifests. Child processes are watched: none may be a JVM.
Then a session is started up to its first query: with nothing archived, by the JVM that makes the
archive of classes, and by those that use it.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil

from neve.spark.java import cache_folder
from report import add_options, tell
from synthetic import make_table

RUNS = 7
#: Sessions of each kind; they take turns.
SESSIONS = 3
SESSION = """
import sys
from process_tree import cpu_seconds
from neve.spark.session import build_session
session = build_session({}, master="local[2]", conf=dict(a.split("=", 1) for a in sys.argv[1:]),
                        reporter=lambda message: None)
session.range(3).count()
print(cpu_seconds())
session.stop()
"""


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
        sessions = _sessions(folder)
    result = {
        "median_s": median(seconds for seconds, _ in runs),
        "worst_s": max(seconds for seconds, _ in runs),
        "jvms_started": sum(jvms for _, jvms in runs),
        "runs": RUNS,
        "sessions": sessions,
    }
    tell(
        arguments,
        result,
        f"neve health, cold: median {result['median_s']:.2f} s, "
        f"worst {result['worst_s']:.2f} s of {RUNS} runs, {result['jvms_started']} JVMs started\n"
        + "\n".join(
            f"Spark up to its first query, {kind}: {found['wall_s']:.1f} s, "
            f"{found['cpu_s']:.1f} CPU-seconds"
            for kind, found in sessions.items()
        ),
    )


def _sessions(folder: Path) -> dict[str, dict[str, float]]:
    """Medians of wall time and CPU-seconds."""
    environ = {**os.environ, "NEVE_CACHE": str(folder / "cache")}
    (folder / "cache").mkdir()
    shutil.copytree(cache_folder(os.environ) / "jars", folder / "cache" / "jars")
    # An archive of the user's own, or none, is left to the user.
    without = "spark.driver.extraJavaOptions=-Xshare:auto"
    makes = _session(environ)
    _wait_for_archive(folder / "cache" / "classes")
    _session(environ)
    kinds: dict[str, list[tuple[float, float]]] = {"without an archive": [], "with it": []}
    for _ in range(SESSIONS):
        kinds["without an archive"].append(_session(environ, without))
        kinds["with it"].append(_session(environ))
    found = {"making the archive": [makes], **kinds}
    return {
        kind: {"wall_s": median(w for w, _ in runs), "cpu_s": median(c for _, c in runs)}
        for kind, runs in found.items()
    }


def _session(environ: dict[str, str], *conf: str) -> tuple[float, float]:
    words = [sys.executable, "-c", SESSION, *conf]
    here = {**environ, "PYTHONPATH": str(Path(__file__).parent)}
    started = time.perf_counter()
    said = subprocess.run(words, env=here, check=True, capture_output=True, text=True).stdout
    return time.perf_counter() - started, float(said)


def _wait_for_archive(folder: Path) -> None:
    """Until the JVM that makes it has ended, and with it its lock."""
    (lock,) = folder.glob("*.lock")
    with lock.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


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

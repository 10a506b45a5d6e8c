"""A session as a program of its own: what it maps, what it logs, and what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from neve.spark.conf import packages
from neve.spark.jars import resolve_jars
from neve.spark.java import find_java

#: Every case starts a few JVMs.
pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.may_skip("This Java has no archive of its own"),
]
PATIENCE_SECONDS = 240
PROGRAM = """
import atexit, json, sys
told, seen = [], {}
# Registered first, so run last: after what is left of Spark's log was handed on.
atexit.register(lambda: print(json.dumps({**seen, "told": told})))
from neve.spark.session import build_session
from neve.spark.engine import SparkEngine
conf = {"spark.driver.memory": "1g", "spark.driver.extraJavaOptions": sys.argv[1]}
engine = SparkEngine(lambda: build_session(
    {}, master="local[1]", conf=conf, reporter=told.append,
    log=lambda line: told.append(line.message)))
jvm = engine.session._jvm
seen["rows"] = engine.session.range(3).count()
logger = jvm.org.apache.logging.log4j.LogManager.getLogger("neve.test")
logger.warn("two\\nlines")
logger.info("not this one")
seen["seen"] = jvm.java.lang.System.getProperty("seen")
seen["pid"] = jvm.java.lang.ProcessHandle.current().pid()
engine.stop()
"""


@pytest.fixture
def place(tmp_path):
    """A cache of its own with the jars of everybody's, and a temporary folder of its own."""
    java = find_java(os.environ)
    if not (java.home / "lib" / "server" / "classes.jsa").is_file():
        pytest.skip("This Java has no archive of its own to build upon.")
    jars = resolve_jars(packages({}), java, os.environ, lambda message: None)
    shared = Path(jars[0]).parents[2] / "jars"
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "jars").symlink_to(shared)
    (tmp_path / "tmp").mkdir()
    return tmp_path


def environ(place: Path) -> dict[str, str]:
    return {**os.environ, "NEVE_CACHE": str(place / "cache"), "TMPDIR": str(place / "tmp")}


def run(place: Path, log: str) -> tuple[dict, str]:
    """Run a session to its end, that of the JVM included; returns what it said and loaded."""
    loaded = place / log
    options = f"-Dseen=1 -Xlog:class+load:file={loaded} -Djava.io.tmpdir={place / 'tmp'}"
    # The archive depends on the options, and these have a name in them.
    options = options.replace(str(loaded), str(place / "loaded"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, options],
        capture_output=True,
        text=True,
        env=environ(place),
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    said = json.loads(done.stdout)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while is_alive(said["pid"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return said, (place / "loaded").read_text(encoding="utf-8")


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def archives(place: Path) -> list[str]:
    return sorted(path.suffix for path in (place / "cache" / "classes").iterdir())


def test_classes_are_archived_once_and_mapped_from_then_on(place):
    first, loaded = run(place, "first")
    assert "shared objects file (top)" not in loaded
    assert archives(place) == [".lock", ".new"]

    second, loaded = run(place, "second")

    assert archives(place) == [".jsa", ".lock"]
    assert loaded.count("shared objects file (top)") > 5000
    iceberg = [line for line in loaded.splitlines() if " org.apache.iceberg.spark.ext" in line]
    assert any("shared objects file (top)" in line for line in iceberg)
    for said in (first, second):
        # The user's own options hold, and what Spark logs at WARN is told.
        assert (said["rows"], said["seen"]) == (3, "1")
        assert "two\\nlines" in said["told"]
        assert "not this one" not in said["told"]
    assert list((place / "tmp").glob("neve-*")) == []

    (archive,) = (place / "cache" / "classes").glob("*.jsa")
    archive.chmod(0o600)
    with archive.open("r+b") as file:
        file.seek(archive.stat().st_size // 2)
        file.write(os.urandom(1 << 20))
    damaged, loaded = run(place, "third")
    assert damaged["rows"] == 3
    assert "shared objects file (top)" not in loaded


def test_a_killed_session_leaves_nothing_of_ours_behind(place):
    waits = PROGRAM.replace("engine.stop()", "print(seen['pid'], flush=True); sys.stdin.read()")
    process = subprocess.Popen(
        [sys.executable, "-c", waits, "-XX:TieredStopAtLevel=1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environ(place),
    )
    jvm = psutil.Process(int(process.stdout.readline()))
    jvm.kill()
    process.kill()
    process.communicate()

    assert list((place / "tmp").glob("neve-*")) == []

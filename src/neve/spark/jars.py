"""The Iceberg jars, by pinned coordinates.

Spark resolves coordinates through Ivy. That is not safe for several processes on a cold cache,
talks a lot and needs the network each time something is missing. So one short-lived process
resolves each set of coordinates once, under a file lock, and every later session takes the files.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from filelock import FileLock

from neve.model.errors import EnvironmentProblem
from neve.spark.java import Java, cache_folder

ICEBERG_VERSION = "1.12.0"
SPARK_RUNTIME = f"org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:{ICEBERG_VERSION}"
AWS_BUNDLE = f"org.apache.iceberg:iceberg-aws-bundle:{ICEBERG_VERSION}"
SQLITE_DRIVER = "org.xerial:sqlite-jdbc:3.50.3.0"
POSTGRES_DRIVER = "org.postgresql:postgresql:42.7.7"
RESOLVE_TIMEOUT_SECONDS = 900

_RESOLVER = """
import sys
from pyspark.sql import SparkSession
session = (
    SparkSession.builder.master("local[1]").appName("neve-jars")
    .config("spark.jars.packages", sys.argv[1]).config("spark.jars.ivy", sys.argv[2])
    .config("spark.ui.enabled", "false").getOrCreate()
)
print("JARS " + session.conf.get("spark.jars"), flush=True)
session.stop()
"""


def resolve_jars(
    coordinates: Sequence[str],
    java: Java,
    environ: Mapping[str, str],
    reporter: Callable[[str], None],
) -> list[str]:
    """Local files of the coordinates and what they depend on."""
    if (known := cached_jars(coordinates, environ)) is not None:
        return known
    folder, listing = cache_folder(environ), _listing(coordinates, environ)
    wanted = sorted(set(coordinates))
    try:
        listing.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentProblem(
            f"The cache folder {folder} cannot be created: {error.strerror}.",
            next_step="Set NEVE_CACHE to a folder that can be written.",
        ) from error
    with FileLock(folder / "jars" / "lock"):
        if (known := _read_listing(listing)) is not None:
            return known
        reporter(f"Fetching {len(wanted)} Iceberg jars into {folder} (once) …")
        jars = _resolve(wanted, folder / "ivy", java, environ)
        fresh = listing.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(jars), encoding="utf-8")
        fresh.replace(listing)
    return jars


def cached_jars(coordinates: Sequence[str], environ: Mapping[str, str]) -> list[str] | None:
    """The files, if an earlier run resolved these coordinates."""
    return _read_listing(_listing(coordinates, environ))


def _listing(coordinates: Sequence[str], environ: Mapping[str, str]) -> Path:
    digest = hashlib.sha256(",".join(sorted(set(coordinates))).encode()).hexdigest()[:16]
    return cache_folder(environ) / "jars" / f"{digest}.json"


def _read_listing(listing: Path) -> list[str] | None:
    try:
        jars = json.loads(listing.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(jars, list) or not jars or not all(isinstance(jar, str) for jar in jars):
        return None
    return jars if all(Path(jar).is_file() for jar in jars) else None


REASONS = ("not found", "no such file", "error")
OF_A_TRACEBACK = ("Traceback ", "File ", "raise ", "^")


def _resolve(
    coordinates: Sequence[str], ivy_folder: Path, java: Java, environ: Mapping[str, str]
) -> list[str]:
    command = [sys.executable, "-c", _RESOLVER, ",".join(coordinates), str(ivy_folder)]
    try:
        answer = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=RESOLVE_TIMEOUT_SECONDS,
            check=False,
            env={**java.environment(environ), "SPARK_LOCAL_IP": "127.0.0.1"},
        )
    except subprocess.TimeoutExpired as error:
        raise _unresolved(coordinates, "it took too long") from error
    for line in answer.stdout.splitlines():
        if line.startswith("JARS "):
            # Spark tells addresses, in which a space of the folder is escaped.
            return [unquote(jar.removeprefix("file://")) for jar in line[5:].split(",")]
    raise _unresolved(coordinates, _why(answer.stderr) or "no reason was given")


def _why(stderr: str) -> str:
    """The first line that names a reason; lines of code in a traceback name none."""
    lines = [line.strip() for line in stderr.splitlines()]
    told = [line for line in lines if line and not line.startswith(OF_A_TRACEBACK)]
    named = (line for line in told if any(word in line.lower() for word in REASONS))
    return next(named, "").rstrip(".")


def _unresolved(coordinates: Sequence[str], why: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"The jars {', '.join(coordinates)} could not be fetched: {why}.",
        next_step="Check the network and proxy settings of Java, "
        "or name local jars under spark.conf: spark.jars in neve.yaml.",
    )

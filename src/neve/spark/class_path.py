"""Where the jars go: onto the class path of a local driver, and to executors elsewhere.

What Spark is given as `spark.jars` it copies, serves, fetches from itself and loads by a loader of
its own, whose classes are shared less well between JVMs. A local driver needs none of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from neve.spark.master import is_local

CLASS_PATH = "spark.driver.extraClassPath"


def jar_settings(
    settings: Mapping[str, str],
    jars: Sequence[str],
    home: Path,
    environ: Mapping[str, str],
    *,
    is_new: bool,
) -> dict[str, str]:
    """The settings that bring these jars, ours, into a session; `is_new` says its JVM is."""
    if not jars:
        return {}
    is_fixed = not is_new or _is_in_defaults(CLASS_PATH, home, environ)
    if is_fixed or not is_local(settings["spark.master"]):
        return {"spark.jars": ",".join(jars)}
    return {CLASS_PATH: os.pathsep.join([*class_path(settings), *jars])}


def class_path(settings: Mapping[str, str]) -> list[str]:
    """What stands before Spark's own jars."""
    return [part for part in settings.get(CLASS_PATH, "").split(os.pathsep) if part]


def _is_in_defaults(key: str, home: Path, environ: Mapping[str, str]) -> bool:
    """Whether Spark's own configuration sets it: a setting of ours would take its place."""
    folder = Path(environ.get("SPARK_CONF_DIR") or home / "conf")
    try:
        lines = (folder / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    return any(line.strip().startswith(key) for line in lines)

"""Scale-out: Neve's engines on a real cluster whose executors have a bare Python, and are killed.

The driver is `neve` in a process of its own, as users run it: this process has Spark already.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyspark
import pytest
import yaml
from pyiceberg.catalog import load_catalog
from tests.lock_file import ROOT

from neve.model.table import TableRef
from neve.spark.conf import EXTENSIONS, catalog_conf, packages
from neve.spark.jars import resolve_jars
from neve.spark.java import find_java
from neve.store.opening import open_store
from neve.testing.spark_cluster import SparkCluster, executor_of, spark_cluster, wait_for

pytestmark = pytest.mark.promise(44)

TABLE = TableRef("lake", ("db",), "events")
#: Two groups of so many files, each of about two megabytes that do not compress.
GROUPS, FILES, ROWS = 2, 12, 130_000
ALL_AT_ONCE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.ui.enabled": "false",
    "spark.task.maxFailures": "4",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "2",
    "spark.dynamicAllocation.executorIdleTimeout": "5s",
}
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.0",
    "spark.speculation.minTaskRuntime": "1s",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Another environment of the same Python, which has no package at all."""
    folder = tmp_path_factory.mktemp("bare") / "python"
    venv.create(folder, with_pip=False)
    return str(folder / "bin" / "python")


@dataclass
class Lake:
    """A table on this machine, and the command line over the cluster."""

    folder: Path
    cluster: SparkCluster
    spark: dict[str, Any]
    running: subprocess.Popen[str] | None = None

    def __post_init__(self) -> None:
        url = f"sqlite:///{self.folder}/state.db"
        catalog = {
            "type": "sql",
            "uri": f"sqlite:///{self.folder}/catalog.db",
            "warehouse": f"file://{self.folder}/warehouse",
        }
        self.catalogs = {"lake": catalog}
        settings = {"catalogs": self.catalogs, "state": {"url": url}, "spark": self.spark}
        (self.folder / "neve.yaml").write_text(yaml.safe_dump(settings))
        self.state, self.catalog = url, load_catalog("lake", **catalog)

    def configure(self, conf: dict[str, str], **spark: str) -> None:
        """Say more of Spark."""
        settings = yaml.safe_load((self.folder / "neve.yaml").read_text())
        settings["spark"] |= spark
        settings["spark"]["conf"] |= conf
        (self.folder / "neve.yaml").write_text(yaml.safe_dump(settings))

    def fill(self) -> None:
        random = np.random.default_rng(7)
        schema = pa.schema([("part", pa.int32()), ("id", pa.int64()), ("value", pa.float64())])
        self.catalog.create_namespace("db")
        table = self.catalog.create_table("db.events", schema)
        with table.update_spec() as spec:
            spec.add_identity("part")
        for number in range(FILES):
            ids = np.arange(number * ROWS, (number + 1) * ROWS)
            parts = np.repeat(np.arange(GROUPS, dtype=np.int32), -(-ROWS // GROUPS))[:ROWS]
            table.append(pa.table([parts, ids, random.random(ROWS)], schema=schema))

    @property
    def data(self) -> Path:
        return self.folder / "warehouse" / "db" / "events" / "data"

    def rows(self) -> pa.Table:
        return self.catalog.load_table("db.events").scan().to_arrow().sort_by("id")

    def live_paths(self) -> list[str]:
        found = self.catalog.load_table("db.events").inspect.files()
        return [str(path) for path in found["file_path"].to_pylist()]

    def begin(self, *words: str) -> subprocess.Popen[str]:
        program = Path(sys.executable).with_name("neve")
        config = ("--config", str(self.folder / "neve.yaml")) if words[0] == "compact" else ()
        self.running = subprocess.Popen(
            [str(program), *config, *words, "-o", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return self.running

    def compact(self) -> subprocess.Popen[str]:
        return self.begin("compact", "lake.db.events")

    def uncommitted(self) -> set[str]:
        found = open_store(self.state).uncommitted_files(TABLE)
        return {path.removeprefix("file://") for path in found}


@pytest.fixture
def lake(tmp_path: Path, cluster: SparkCluster, bare_python: str) -> Iterator[Lake]:
    conf = {**ALL_AT_ONCE, "spark.pyspark.python": bare_python}
    made = Lake(tmp_path, cluster, {"master": cluster.master, "conf": conf})
    made.fill()
    yield made
    if made.running is not None and made.running.poll() is None:
        made.running.kill()
        made.running.communicate()


def outcome_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    said, errors = process.communicate()
    assert process.returncode == 0, said + errors
    outcome: dict[str, Any] = json.loads(said)
    return outcome


def final_name(draft: str) -> str:
    return draft.rsplit(".", 2)[0]


@pytest.mark.parametrize("speculation", [{}, SPECULATION], ids=["", "with speculation"])
def test_an_executor_that_is_killed_in_the_middle_changes_nothing(
    lake: Lake, speculation: dict[str, str]
) -> None:
    lake.configure(speculation)
    before = lake.rows()
    running = lake.compact()

    drafts = wait_for(
        "a file being written", lambda: lake.cluster.writers(lake.data), during=running
    )
    draft, worker = next(iter(drafts.items()))
    executor_of(worker).kill()
    outcome = outcome_of(running)

    assert outcome["status"] == "succeeded"
    assert outcome["engines"]["rewrite"] == GROUPS
    assert "lost, failed or too slow, and begun again" in outcome["reason"]
    assert lake.rows().equals(before)
    # The name of the attempt that was killed is another than the one that was committed.
    live = lake.live_paths()
    assert len(live) == len(set(live)) == GROUPS
    assert final_name(draft) not in {path.removeprefix("file://") for path in live}
    assert final_name(draft) in lake.uncommitted()


@pytest.mark.parametrize("winner", ["first", "copy"])
def test_of_two_copies_of_a_task_one_is_committed(lake: Lake, winner: str) -> None:
    archive = lake.folder / "engines.zip"
    packed = lake.begin("spark-package", "--out", str(archive))
    lake.configure(SPECULATION, package=archive.name)
    assert outcome_of(packed)["path"] == str(archive)
    before = lake.rows()
    running = lake.compact()

    drafts = wait_for(
        "a file being written", lambda: lake.cluster.writers(lake.data), during=running
    )
    first, slow = next(iter(drafts.items()))
    slow.suspend()
    group = Path(first).name.rpartition("-")[0]

    def rival() -> tuple[str, Any] | None:
        found = lake.cluster.writers(lake.data).items()
        return next((e for e in found if e[0] != first and Path(e[0]).name.startswith(group)), None)

    second, copy = wait_for("a copy of the task", rival, during=running)
    if winner == "first":
        copy.suspend()
        slow.resume()
    outcome = outcome_of(running)

    assert (outcome["status"], lake.rows().equals(before)) == ("succeeded", True)
    live = {path.removeprefix("file://") for path in lake.live_paths()}
    won, lost = (first, second) if winner == "first" else (second, first)
    assert len(live) == GROUPS
    assert final_name(won) in live
    assert final_name(lost) not in live
    assert final_name(lost) in lake.uncommitted()
    assert final_name(won) not in lake.uncommitted()


def submit(lake: Lake, *more: str) -> subprocess.CompletedProcess[str]:
    """The project's job, by `spark-submit` in client mode."""
    ((name, properties),) = lake.catalogs.items()
    jars = resolve_jars(packages({name: properties}), find_java(os.environ), os.environ, print)
    conf = {
        **lake.spark["conf"],
        **catalog_conf(name, properties),
        "spark.sql.extensions": EXTENSIONS,
        "spark.jars": ",".join(jars),
        "spark.pyspark.driver.python": sys.executable,
    }
    home = Path(pyspark.__file__).parent
    return subprocess.run(
        [
            *(str(home / "bin" / "spark-submit"), "--master", lake.cluster.master),
            *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
            *more,
            *(str(ROOT / "jobs" / "compact_table.py"), "--table", str(TABLE)),
        ],
        cwd=lake.folder,
        env={**os.environ, "SPARK_HOME": str(home), "JAVA_HOME": str(find_java(os.environ).home)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("way", ["sent", "packed"])
def test_a_submitted_application_needs_nothing_of_neve_on_executors(lake: Lake, way: str) -> None:
    before, more = lake.rows(), []
    if way == "packed":
        assert outcome_of(lake.begin("spark-package", "--out", str(lake.folder / "engines.zip")))
        more = ["--archives", "engines.zip#neve", "--conf", "spark.executorEnv.PYTHONPATH=neve"]
        # So that it ends at once, should Neve have to send anything.
        lake.configure({}, package="installed")

    done = submit(lake, *more)

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{TABLE}: succeeded." in done.stdout
    assert lake.rows().equals(before)
    assert len(lake.live_paths()) == GROUPS
    (outcome,) = open_store(lake.state).outcomes()
    assert outcome.engines["rewrite"] == GROUPS


QUESTIONS = """
import sys
from neve.model.errors import EnvironmentProblem
from neve.settings import load_settings
from neve.spark.executors import make_ready
from neve.spark.session import build_session

settings = load_settings(sys.argv[1]).spark
session = build_session({}, master=settings.master, conf=settings.conf, reporter=print)
for program, package in zip(sys.argv[2::2], sys.argv[3::2]):
    session.sparkContext.pythonExec = program
    try:
        make_ready(session, package)
        print("TOLD ready")
    except EnvironmentProblem as error:
        print("TOLD", error.message)
session.stop()
"""
#: Python of another minor version, as far as pyspark can see.
PRETENDER = """#!/bin/sh
export PYTHONPATH="{folder}:$PYTHONPATH"
exec {python} "$@"
"""


def test_executors_that_cannot_run_tasks_are_told(
    lake: Lake, bare_python: str, tmp_path: Path
) -> None:
    pretender = tmp_path / "other" / "python"
    pretender.parent.mkdir()
    pretender.write_text(PRETENDER.format(folder=pretender.parent, python=bare_python))
    pretender.chmod(0o755)
    (pretender.parent / "sitecustomize.py").write_text(
        "import sys\n"
        "from collections import namedtuple\n"
        "Version = namedtuple('Version', 'major minor micro releaselevel serial')\n"
        "sys.version_info = Version(3, 99, *sys.version_info[2:])\n"
    )
    asked = [
        *(str(pretender), "auto"),
        *("/there/is/no/python", "auto"),
        *(bare_python, "installed"),
        *(sys.executable, "installed"),
        *(bare_python, "auto"),
    ]

    done = subprocess.run(
        [sys.executable, "-c", QUESTIONS, str(lake.folder / "neve.yaml"), *asked],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
    )

    told = [line[5:] for line in done.stdout.splitlines() if line.startswith("TOLD ")]
    driver = ".".join(map(str, sys.version_info[:2]))
    assert len(told) == 5, done.stdout + done.stderr
    assert told[0].startswith(f"Executors run Python 3.99, and Neve runs on {driver}")
    assert told[1].startswith("Executors have no program '/there/is/no/python'")
    assert told[2].startswith("Executors do not have this Neve: ModuleNotFoundError")
    assert told[3:] == ["ready", "ready"]

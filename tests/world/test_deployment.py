"""Workflows, compose file and dashboard, judged by the programs that they are made for."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import jsonschema
import pyspark
import pytest
import yaml
from tests.lock_file import ROOT
from tests.world.checking import ran

from neve.spark.java import find_java
from neve.testing.spark_cluster import wait_for

WORKFLOWS = ROOT / ".github" / "workflows"


def test_the_workflows_are_right(tool):
    done = ran(tool("actionlint"), *map(str, sorted(WORKFLOWS.iterdir())), cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_workflow_that_is_wrong_is_found(tool, tmp_path):
    text = (WORKFLOWS / "release.yml").read_text(encoding="utf-8")
    (tmp_path / "release.yml").write_text(text.replace("needs: build", "needs: biuld"))
    done = ran(tool("actionlint"), str(tmp_path / "release.yml"))
    assert "biuld" in done.stdout


def test_the_compose_file_is_one(tool):
    schema = json.loads(Path(tool("compose-schema")).read_text(encoding="utf-8"))
    document = compose()

    validator = jsonschema.Draft7Validator(schema)
    validator.validate(document)
    document["services"]["api"]["comand"] = []
    with pytest.raises(jsonschema.ValidationError, match="comand"):
        validator.validate(document)


#: A shell of SeaweedFS that has no filer yet when it is asked for the first two times.
WEED = """#!/bin/sh
read asked
case "$asked" in
  *create*) echo . >> tries; test $(wc -l < tries) -ge 3 && touch bucket || echo error: no filer ;;
  *list*) test -e bucket && echo "  lakehouse-warehouse  size:0" || true ;;
esac
"""


def test_compose_waits_until_the_bucket_is_there(tmp_path):
    (tmp_path / "weed").write_text(WEED)
    (tmp_path / "weed").chmod(0o755)
    bucket = compose()["services"]["bucket"]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"

    ran(*bucket["entrypoint"], *bucket["command"], cwd=tmp_path, env={"PATH": path}, timeout=60)

    assert (tmp_path / "tries").read_text() == ".\n" * 3
    assert (tmp_path / "bucket").exists()


def test_workers_of_spark_write_nothing_into_the_folder_of_its_installation(tmp_path):
    services = compose()["services"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    own = {
        "spark-master": "127.0.0.1",
        "7077": port,
        "spark://spark-master:7077": f"spark://127.0.0.1:{port}",
        "/var/lib/neve/work": str(tmp_path / "work"),
    }
    home = Path(pyspark.__file__).parent
    assert not (home / "work").exists()
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_HOME": str(find_java(os.environ).home),
    }
    processes = []
    try:
        for name in ("spark-master", "spark-worker"):
            (program,) = services[name]["entrypoint"]
            words = [own.get(word, word) for word in services[name]["command"]]
            with (tmp_path / f"{name}.log").open("w") as log:
                processes.append(
                    subprocess.Popen(
                        [str(home / "bin" / program), *words, "--webui-port", "0"],
                        env=environment,
                        stderr=log,
                    )
                )
        log = tmp_path / "spark-worker.log"
        wait_for("a worker that is known", lambda: "Successfully registered" in log.read_text())
        assert (tmp_path / "work").is_dir()
        assert not (home / "work").exists()
    finally:
        for process in processes:
            process.terminate()
            process.wait(60)


def compose():
    return yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))


def test_a_package_is_fetched_where_the_machine_has_no_lists_of_them(tmp_path):
    (tmp_path / "lists" / "partial").mkdir(parents=True)
    (tmp_path / "apt.conf").write_text(f'Dir::State::Lists "{tmp_path}/lists";\n')
    (tmp_path / "into").mkdir()
    fetch = "from pathlib import Path; from fetching import debian_package as get; import sys; "
    done = ran(
        *(sys.executable, "-c", fetch + "get('prometheus', Path(sys.argv[1]))"),
        str(tmp_path / "into"),
        cwd=ROOT / "tools" / "stack",
        env={**os.environ, "APT_CONFIG": str(tmp_path / "apt.conf")},
    )

    assert done.returncode == 0, done.stderr
    assert [path.name for path in tmp_path.glob("into/usr/bin/promtool")] == ["promtool"]
    assert not (tmp_path / "into" / "lists").exists()


def test_prometheus_can_read_every_expression_of_the_dashboard(tool, tmp_path):
    dashboard = json.loads((ROOT / "deploy/grafana/neve.json").read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    rules = [{"record": f"a:{n}", "expr": text} for n, text in enumerate(expressions)]
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))

    done = ran(tool("promtool"), "check", "rules", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(expressions)} rules found" in done.stdout

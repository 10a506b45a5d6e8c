"""Workflows, compose file and dashboard, judged by the programs that they are made for."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.lock_file import ROOT
from tests.world.checking import ran

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
    document = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))

    validator = jsonschema.Draft7Validator(schema)
    validator.validate(document)
    document["services"]["api"]["comand"] = []
    with pytest.raises(jsonschema.ValidationError, match="comand"):
        validator.validate(document)


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

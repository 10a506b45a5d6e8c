"""`--config` takes the file of a compaction service, for every command."""

from __future__ import annotations

from pathlib import Path

import pytest

FILE = """
catalog:
  {name: lake, type: sql, uri: "sqlite:///${ENV:LAKE}/catalog.db", warehouse: "${LAKE}/warehouse"}
compaction: {strategies: {small_files: {threshold: 32MB, target_size: 1GB}}}
tables:
  - {name: events, schedule: "*/30 * * * *", strategy: small_files, options: {max_cost: 10.0}}
"""


@pytest.fixture
def service_file(only_looking, shared_lake, monkeypatch, tmp_path):
    monkeypatch.setenv("LAKE", str(shared_lake.folder))
    path = Path(tmp_path / "service.yaml")
    path.write_text(FILE, encoding="utf-8")
    return path


@pytest.mark.promise(26)
def test_policy_explain_says_where_in_the_file_each_value_stands(run_json, service_file):
    document, code = run_json("policy", "explain", "db.events", "--config", service_file)

    said = {item["key"]: (item["value"], item["source"]) for item in document["settings"]}
    small = "compaction.strategies.small_files"
    assert code == 0
    assert document["schedule"] == "*/30 * * * *"
    assert said["schedule"] == ("*/30 * * * *", "tables[0].schedule (neve.yaml)")
    assert said["budget.max_cost_usd"] == (10.0, "tables[0].options.max_cost (neve.yaml)")
    assert said["rewrite_data_files.options.min-file-size-bytes"] == (
        32 * 1024**2,
        f"{small}.threshold (neve.yaml)",
    )


def test_other_commands_take_it_too(run, service_file):
    assert "tables: events" in run("policy", "list", "-c", service_file).stdout
    assert run("plan", "events", "-c", service_file).exit_code == 1
    assert run("plan", "db.events", "-c", service_file).exit_code == 2

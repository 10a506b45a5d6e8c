"""A first neve.yaml: from what is there, with everything else as comments, and it works."""

from __future__ import annotations

import json
import stat

import pytest
import yaml

from neve.settings import load_settings

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def stack(tmp_path, monkeypatch):
    path = tmp_path / "stack.json"
    monkeypatch.setenv("NEVE_STACK_JSON", str(path))
    store = {"endpoint": "http://127.0.0.1:1", "access_key": "user", "secret_key": "s${cret}"}
    path.write_text(json.dumps({"rest": {"uri": "http://127.0.0.1:1"}, "s3": store}))


@pytest.fixture
def pyiceberg(home, lake):
    catalog = {"type": "sql", "token": "hush-hush", **lake.properties}
    (home / ".pyiceberg.yaml").write_text(yaml.safe_dump({"catalog": {"lake": catalog}}))


def test_without_anything_it_is_the_embedded_lakehouse(run, run_json, tmp_path):
    document, code = run_json("init")

    assert (code, document["source"], document["catalogs"]) == (0, "embedded", ["lake"])
    settings = load_settings("neve.yaml")
    assert settings.catalogs["lake"]["uri"] == f"sqlite:///{tmp_path}/.neve/catalog.db"
    # What is a comment can be used: it is a configuration, too.
    text = (tmp_path / "neve.yaml").read_text()
    wanted = [line for line in text.splitlines()[2:] if "What removes" not in line]
    lines = [line.removeprefix("# ") for line in wanted]
    (tmp_path / "all.yaml").write_text("\n".join(lines))
    assert load_settings("all.yaml").policies[0].name == "clean"


def test_catalogs_of_pyiceberg_are_used_and_not_copied(pyiceberg, events, run, tmp_path):
    result = run("init")

    assert result.exit_code == 0, result.output
    assert "hush-hush" not in (tmp_path / "neve.yaml").read_text()
    assert "lake.db.events" in run("tables").stdout


def test_a_running_stack_is_reached_with_its_own_credentials(stack, run, tmp_path):
    result = run("init", "stack.yaml")

    # Nobody listens there in this test, which the check finds out.
    assert result.exit_code == 1
    assert "✘ catalog stack" in result.stdout
    catalog = load_settings("stack.yaml").catalogs["stack"]
    assert catalog["s3.secret-access-key"] == "s${cret}"
    assert stat.S_IMODE((tmp_path / "stack.yaml").stat().st_mode) == 0o600


def test_where_there_is_a_choice_it_can_be_made(pyiceberg, stack, run_json):
    assert run_json("init", "--from", "embedded")[0]["source"] == "embedded"


def test_a_file_that_is_there_is_kept(run, tmp_path):
    (tmp_path / "neve.yaml").write_text("catalogs: {}\n")

    refused = run("init")

    assert (refused.exit_code, (tmp_path / "neve.yaml").read_text()) == (1, "catalogs: {}\n")
    assert run("init", "--force").exit_code == 0


@pytest.mark.parametrize("source", ["pyiceberg", "stack"])
def test_a_source_without_catalogs_is_an_error(run, tmp_path, source):
    assert run("init", "--from", source).exit_code == 1
    assert not (tmp_path / "neve.yaml").exists()


@pytest.mark.parametrize("text", ["catalog: [", "[]", "catalog: 3"])
def test_a_file_of_pyiceberg_that_cannot_be_read_is_no_traceback(run, home, text):
    (home / ".pyiceberg.yaml").write_text(text)

    assert run("init", "--from", "pyiceberg").exit_code == 1

"""`neve keys` and `neve audit`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from neve import Neve

CONFIG = "catalogs: {lake: {type: rest, uri: 'http://127.0.0.1:1'}}\naccess: {enabled: true}\n"


@pytest.fixture
def configured(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("neve.yaml").write_text(CONFIG)


@pytest.mark.promise(58)
def test_a_key_is_shown_once_and_kept_as_a_digest(configured, run, run_json):
    words = ["--role", "operator", "--tables", "lake.acme", "--tenant", "acme", "--purge"]
    made, code = run_json("keys", "create", "nightly", *words, "--expires", "90d")
    assert code == 0
    secret = made.pop("key")
    assert secret.startswith(f"neve_{made['prefix']}_")
    listed, _ = run_json("keys", "list")
    assert listed == [made]
    assert made["grants"] == [
        {"role": "operator", "tables": "lake.acme", "purge": True, "policies": False}
    ]
    for path in Path(".neve").glob("state.db*"):
        assert secret.encode() not in path.read_bytes()
    with Neve.open() as neve:
        assert neve.access.authenticate(secret).tenant == "acme"
    assert secret not in run("keys", "list").output
    assert made["prefix"] in run("keys", "list").stdout


def test_plain_output_is_the_key_alone(configured, run):
    done = run("keys", "create", "x", "--role", "viewer")
    assert done.stdout.startswith("neve_")
    assert len(done.stdout.split()) == 1


@pytest.mark.promise(58)
def test_a_revoked_key_is_refused(configured, run, run_json):
    made, _ = run_json("keys", "create", "x", "--role", "viewer")
    assert run_json("keys", "revoke", made["prefix"]) == (
        {"prefix": made["prefix"], "revoked": True},
        0,
    )
    with Neve.open() as neve, pytest.raises(Exception, match="not accepted"):
        neve.access.authenticate(made["key"])
    assert run("keys", "revoke", made["prefix"]).exit_code == 1
    assert run("keys", "revoke", "nope").exit_code == 1
    assert [key["is_good"] for key in run_json("keys", "list")[0]] == [False]


@pytest.mark.parametrize(
    "words",
    [
        ["--role", "god"],
        [],
        ["--role", "viewer", "--tables", "lake..x"],
        ["--role", "viewer", "--tables", "'; DROP TABLE x"],
        ["--role", "viewer", "--purge"],
        ["--role", "viewer", "--tenant", "a", "--all-tenants"],
        ["--role", "viewer", "--expires", "soon"],
        ["--role", "viewer", "--expires", "999999999999d"],
        ["--role", "viewer", "--tenant", "a\nb"],
        ["--role", "viewer", "--owner", "\x1b[31m"],
    ],
)
def test_what_makes_no_sense_makes_no_key(configured, run, run_json, words):
    assert run("keys", "create", "x", *words).exit_code == 1
    assert run_json("keys", "list")[0] == []


@pytest.mark.promise(57)
def test_the_log_is_listed_and_checked(configured, run, run_json):
    run("keys", "create", "x", "--role", "viewer")
    run("keys", "revoke", "nope")
    rows, _ = run_json("audit", "list")
    assert [(row["action"], row["outcome"]) for row in rows] == [
        ("neve keys", "refused"),
        ("create key", "done"),
    ]
    assert rows[0]["who"].startswith("cli")
    assert "nope" in run("audit", "list", "--limit", "1").stdout
    checked, code = run_json("audit", "verify")
    assert (checked["is_whole"], checked["rows"], checked["problem"], code) == (True, 2, None, 0)
    assert run("audit", "verify", "--noted", checked["head"]).exit_code == 0
    assert run("audit", "verify", "--noted", "9:" + "0" * 64).exit_code == 1
    assert run("audit", "verify", "--noted", "x").exit_code == 1

    with closing(sqlite3.connect(".neve/state.db")) as db:
        db.execute("DROP TRIGGER audit_is_not_changed")
        db.execute("UPDATE audit SET document = replace(document, 'done', 'DONE') WHERE number = 1")
        db.commit()
    spoilt, code = run_json("audit", "verify")
    assert (spoilt["problem"], code) == ("Row 1 was changed.", 1)


def test_without_access_nothing_is_written_down(run, run_json, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("health", "nothing")
    assert run_json("audit", "list") == ([], 0)
    assert json.loads(run("audit", "verify", "-o", "json").stdout)["rows"] == 0

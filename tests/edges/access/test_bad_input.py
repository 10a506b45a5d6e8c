"""Bad input in families: one clear sentence, nothing changed, one row of the audit log."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from tests.edges.access.conftest import OWN, opened
from typer.testing import CliRunner

from neve import Neve
from neve.cli.main import app

pytestmark = pytest.mark.promise(62)

NAMES = [
    "t'); DROP TABLE x--", "a.b.c.d", "`a`.`b`", "a..b", "t\x00", "t%2e%2e", "t\u202ex", "t\u200b",
    "n." + "x" * 10_000, "*", "foo.*", "<script>alert(1)</script>", "${jndi:ldap://x}",
    "t;SET spark.x=y", f"{OWN}.files", "acme.events.snapshots", "lake.acme.`events$files`",
    "../../etc/passwd", "acme.events.branch_x", "lake.acme.events#x", "lake.acme.nothing",
    "\ud800", "lake.acme. events",
]  # fmt: skip
FILTERS = [
    "true OR (SELECT 1)", "java_method('java.lang.System','exit',0)=0", "reflect('a','b')='c'",
    "repeat('x',2000000000)='a'", "id IN (" + ",".join(["1"] * 100_000) + ")",
    "(" * 5000 + "id = 1" + ")" * 5000, "assert_true(false)", "my_udf(id) = 1",
    "id = 1; DROP TABLE x", "id = 'x", "no_such_column = 1", "", "id",
    "id = (SELECT max(id) FROM lake.hush.events)", "1=1", "1 = 1 OR id = 1", "id = 1 --",
    "id = 1 /* x */ OR 1=1", "id = 1 -- x\nOR 1 = 1", "true",
]  # fmt: skip
OPTIONS = [
    {"target_file_size": 0}, {"target_file_size": -1}, {"target_file_size": 2**63},
    {"target_file_size": "NaN"}, {"target_file_size": "1e999"}, {"target_file_size": ""},
    {"max_cost": -1}, {"max_cost": "NaN"}, {"unknown": 1},
    {"sort_columns": ["x"] * 100}, {"engine": "flink"}, {"location": "s3://other-bucket/"},
    {"location": "../../other"}, {"io-impl": "evil.Class"}, {"warehouse": "file:///etc"},
    {"partition_filter": 5}, {"spark.conf": {"spark.jars": "http://x"}},
]  # fmt: skip
OVERRIDES = [
    {"rewrite_data_files.options.max-concurrent-file-group-rewrites": 10**6},
    {"rewrite_data_files.options.max-concurrent-file-group-rewrites": -1},
    {"rewrite_data_files.options.target-file-size-bytes": 0},
    {"rewrite_data_files.options.target-file-size-bytes": -1},
    {"rewrite_data_files.options.target-file-size-bytes": 2**63},
    {"rewrite_data_files.options.target-file-size-bytes": "NaN"},
    {"rewrite_data_files.options.no-such-option": 1},
    {"rewrite_data_files.options.partial-progress.max-commits": 0},
    {"rewrite_data_files.options.target-file-size-bytes": "1e9999"},
    {"no.such.key": 1}, {"expire_snapshots.retain_last": 0}, {"catalogs.lake.uri": "http://x"},
    {"schedule": "* * * * * * *"}, {"expire_snapshots.older_than": "-5d"},
    {"remove_orphan_files.location": "file:///etc"},
]  # fmt: skip
EXPIRIES = [
    {"older_than": "0"}, {"older_than": "-1d"}, {"older_than": "9999-01-01"}, {"retain_last": 0},
    {"retain_last": -1}, {"older_than": "now"}, {"keep_daily": 2**40}, {"apply": "maybe"},
]  # fmt: skip
ROLLBACKS = [
    {}, {"snapshot_id": -1}, {"snapshot_id": 2**63}, {"time": "yesterday"}, {"job_id": "../x"},
    {"time": "9999-12-31T23:59:59"}, {"snapshot_id": 1, "job_id": "x"}, {"snapshot_id": "1; DROP"},
]  # fmt: skip
ORPHANS = [
    {"action": "purge", "older_than": "0s"}, {"paths": ["file:///etc/passwd"]},
    {"action": "restore", "paths": [""]}, {"max_orphan_ratio": 2},
    {"action": "drop"}, {"action": "look", "location": "s3://user:pw@b/t"},
]  # fmt: skip
QUERIES = [
    "/api/v1/jobs?limit=1000000000", "/api/v1/jobs?limit=0", "/api/v1/jobs?cursor=%00",
    "/api/v1/jobs?cursor=" + "A" * 5000, "/api/v1/jobs/..%2f..%2fetc%2fpasswd",
    "/api/v1/jobs/%3Cscript%3E", "/api/v1/plans/none", "/api/v1/audit?limit=-1",
    "/api/v1/audit?cursor=W10", "/api/v1/tables?pattern=" + "x" * 2000, "/api/v1/../../etc/passwd",
    "/static/..%2f..%2fetc/passwd", "/api/v1/jobs?status=<script>", "/%2e%2e/%2e%2e/etc",
]  # fmt: skip
BODIES = [
    b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"[" * 10_000, b'{"table":' * 10_000,
    b'{"table": "a.b", "table": 1}', b"{" + b" " * 2**21, b'{"catalog": {"uri": "http://169.254.169.254/"}}',
    b'{"table": "acme.events", "uri": "http://169.254.169.254/"}', b"\x1f\x8b\x08\x00gzip",
]  # fmt: skip


def requests():
    """Name, method, path and body of every bad request."""
    for name in NAMES:
        usable = name.encode("utf-8", "surrogatepass")
        path = quote(usable, safe="")
        yield "GET", f"/api/v1/tables/{path}", None
        yield "POST", f"/api/v1/schedules/{path}/trigger", {}
        if "\ud800" not in name:
            yield "POST", "/api/v1/compact", {"table": name}
    for text in FILTERS:
        yield "POST", "/api/v1/compact", {"table": OWN, "options": {"partition_filter": text}}
    for options in OPTIONS:
        yield "POST", "/api/v1/plans", {"table": OWN, "options": options}
    for overrides in OVERRIDES:
        yield "POST", f"/api/v1/tables/{OWN}/maintain", {"overrides": overrides}
    for kind, bodies in (("expire", EXPIRIES), ("rollback", ROLLBACKS), ("orphans", ORPHANS)):
        for body in bodies:
            said = {"apply": True, **body} if kind == "expire" else body
            yield "POST", f"/api/v1/tables/{OWN}/{kind}", said
    for path in QUERIES:
        yield "GET", path, None
    for content in BODIES:
        yield "POST", "/api/v1/compact", content


def state_of(world):
    store = world.store
    jobs = [(job.job_id, job.state) for job in store.jobs(limit=10_000)]
    return jobs, store.plans.newest(1000), store.set_aside_tables(), store.schedule_states()


def send(client, method, path, body, headers):
    if isinstance(body, bytes):
        typed = headers | {"Content-Type": "application/json"}
        return client.request(method, path, headers=typed, content=body)
    more = {} if body is None else {"json": body}
    return client.request(method, path, headers=headers, **more)


@pytest.mark.timeout(240)
def test_bad_requests_change_nothing_and_leave_one_row(lake, tmp_path):
    with opened(lake, tmp_path / "w", requests_per_minute=100_000) as world:
        headers = world.key("admin", purge=True)
        before = state_of(world)
        for method, path, body in requests():
            rows = world.neve.access.audit_rows(limit=1)[0].number
            answer = send(world.client, method, path, body, headers)
            told = (method, path[:80], str(body)[:80], answer.status_code, answer.text[:300])
            assert 400 <= answer.status_code < 500, told
            assert answer.headers["content-type"] == "application/problem+json", told
            problem = answer.json()
            assert problem["detail"].strip(), told
            assert "Traceback" not in answer.text, told
            assert 'File "/' not in answer.text, told
            entries = world.neve.access.audit_rows(limit=5)
            assert entries[0].number == rows + 1, told
            assert entries[0].entry.outcome == str(answer.status_code), told
            assert state_of(world) == before, told
        assert world.neve.access.verify_audit()[1] is None


COMMANDS = [
    *(["compact", name] for name in NAMES if "\x00" not in name and "\ud800" not in name
      and name not in ("*", "foo.*")),
    *(["compact", OWN, "--where", text] for text in FILTERS if len(text) < 50_000),
    ["compact", OWN, "--target-size", "0"], ["compact", OWN, "--target-size", "2e999"],
    ["expire", OWN, "--older-than", "-1d"], ["expire", OWN, "--older-than", "soon"],
    ["rollback", OWN, "--to-snapshot", "-1"], ["rollback", OWN, "--job", "../../x"],
    ["orphans", OWN, "--older-than", "0s"], ["plan", "nothing.*"],
    ["keys", "create", "x", "--role", "viewer", "--tables", "a b"], ["keys", "revoke", "../x"],
    ["compact", OWN, "--no-such-option", "x"], ["compact"], ["no-such-command", OWN], ["--nope"],
    ["compact", OWN, "--engine", "flink"], ["expire", OWN, "--retain-last", "many"], ["keys", "x"],
    ["compact", OWN, "--c", "\u202e"],
    ["audit", "verify", "--noted", "1:x"], ["job", "../../etc/passwd"], ["cancel", "<script>"],
]  # fmt: skip


@pytest.mark.timeout(240)
def test_bad_commands_change_nothing_and_leave_one_row(lake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = {"catalogs": {"lake": lake.properties}, "access": {"audit": True}}
    Path("neve.yaml").write_text(yaml.safe_dump(settings))
    with Neve.open() as neve:
        access, store = neve.access, neve._services.store
        for words in COMMANDS:
            before = access.verify_audit()[0].number
            done = CliRunner().invoke(app, words)
            told = ([word[:80] for word in words], done.output[:300], done.exception)
            assert done.exit_code == 1, told
            assert isinstance(done.exception, SystemExit), told
            assert done.stderr.startswith("Error: "), told
            assert "Traceback" not in done.output, told
            rows = access.audit_rows(limit=5)
            assert rows[0].number == before + 1, told
            assert rows[0].entry.outcome == "refused", told
        assert store.jobs() == []
        assert access.all_keys() == []

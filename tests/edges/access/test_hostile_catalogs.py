"""Catalogs and tables that lie: 4xx or exit 1 at every edge, one sentence, one row of the log."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from starlette.testclient import TestClient
from tests.edges.access.conftest import World
from tests.edges.access.hostile_catalog import HostileCatalog, serving
from typer.testing import CliRunner

from neve import Neve
from neve.api.app import create_app
from neve.aws_lambda.function import Function
from neve.catalog import careful_rest
from neve.cli.main import app
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

pytestmark = [pytest.mark.promise(62), pytest.mark.timeout(240)]

SPACE = "t_acme__default"
SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
DAMAGES = {
    "metadata_no_json": ("metadata", b"{nope"),
    "metadata_deep": ("metadata", b"[" * 100_000),
    "metadata_empty": ("metadata", b""),
    "list_cut": ("list", None),
    "list_garbage": ("list", b"Obj\x01" + b"\xff" * 500),
    "manifest_cut": ("manifest", None),
    "manifest_garbage": ("manifest", b"Obj\x01" + b"\xff" * 500),
    "manifest_empty": ("manifest", b""),
    "manifest_elsewhere": ("manifest", Path("/etc/passwd")),
}


def local(path):
    return Path(path.removeprefix("file://"))


def damage(lake, name):
    table = lake.catalog.load_table((SPACE, name))
    snapshot = table.current_snapshot()
    place, content = DAMAGES[name]
    path = local({
        "metadata": table.metadata_location,
        "list": snapshot.manifest_list,
        "manifest": snapshot.manifests(table.io)[0].manifest_path,
    }[place])  # fmt: skip
    if isinstance(content, Path):
        path.unlink()
        path.symlink_to(content)
    else:
        path.write_bytes(path.read_bytes()[:-40] if content is None else content)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    lake = LocalLake(folder / "lake", name="lake")
    for name in ("good", *DAMAGES):
        table = lake.create(f"{SPACE}.{name}", SCHEMA)
        lake.commit(table, Manifest([FileEntry(f"{table.location()}/f", (), size_bytes=9)]))
    good = lake.catalog.load_table((SPACE, "good"))
    document = json.loads(local(good.metadata_location).read_text("utf-8"))
    answer = {"metadata-location": good.metadata_location, "metadata": document, "config": {}}
    for name in DAMAGES:
        damage(lake, name)
    catalog = HostileCatalog(answer)
    with serving(catalog) as uri:
        settings = {
            "catalogs": {"lake": lake.properties, "evil": {"type": "rest", "uri": uri}},
            "default_catalog": "lake",
            "state": {"url": f"sqlite:///{folder}/state.db"},
            "access": {"enabled": True, "requests_per_minute": 100_000},
        }
        for name in ("lake", "evil"):
            path = folder / f"{name}.yaml"
            path.write_text(yaml.safe_dump({**settings, "database": {"catalog": name}}))
        with ExitStack() as stack:
            made = {"folder": folder, "catalog": catalog}
            for name in ("lake", "evil"):
                neve = stack.enter_context(Neve.open(folder / f"{name}.yaml"))
                client = TestClient(create_app(neve), raise_server_exceptions=False)
                made[name] = World(neve, stack.enter_context(client))
            yield made
            assert neve.access.verify_audit()[1] is None


CASES = [
    *(("lake", name) for name in DAMAGES),
    *(("evil", name) for name in HostileCatalog({"metadata": {"snapshots": [{}]}}).answers),
]


@pytest.fixture(params=CASES, ids=lambda case: case[1])
def case(request, world, monkeypatch):
    catalog, table = request.param
    monkeypatch.setattr(careful_rest, "MAX_ANSWER_BYTES", 1_000_000)
    found = world[catalog]
    before = found.store.jobs(limit=1000), len(world["catalog"].posts)
    yield found, catalog, table
    assert (found.store.jobs(limit=1000), len(world["catalog"].posts)) == before


class Rows:
    def __init__(self, world):
        self._access = world.neve.access
        # The first one of all may be the one that is waited for.
        self.number = max((row.number for row in self._access.audit_rows(limit=1)), default=0)

    def one_more(self, outcome, told):
        self.number += 1
        rows = self._access.audit_rows(limit=2)
        assert rows[0].number == self.number, (told, [row.entry for row in rows])
        assert rows[0].entry.outcome == outcome, (told, rows[0].entry)


def clean(text, told):
    assert "Traceback" not in text, told
    assert 'File "/' not in text, told
    assert "root:" not in text, told
    assert not any(c in text for c in "\x00\x1b"), told


def bodies(table):
    place = {"tenant_id": "acme", "namespace": "default", "table": table}
    yield {"operation": "QUERY", **place}
    yield {"operation": "QUERY", **place, "sql": f"SELECT count(*) AS n FROM {table}"}
    yield {"operation": "COMPACT", **place, "force": True}
    yield {"operation": "WRITE", **place, "records": [{"id": "no number"}]}
    if not table.startswith("manifest_"):
        # Appending does not need the manifests of before.
        yield {"operation": "WRITE", **place, "records": [{"id": 1}]}


def refused(status, document, told):
    assert 400 <= status < 500, told
    assert document["detail"].strip(), told
    assert "\n" not in document["detail"], told
    assert len(document["detail"]) < 2000, told
    clean(json.dumps(document, ensure_ascii=False), told)


def test_rest(case):
    world, catalog, table = case
    headers = world.key("admin", f"{catalog}.{SPACE}", purge=True)
    rows = Rows(world)
    name = f"{catalog}.{SPACE}.{table}"
    requests = [("POST", "/api/v1/database", body) for body in bodies(table)]
    requests += [
        ("GET", f"/api/v1/tables/{name}", None),
        ("POST", "/api/v1/plans", {"table": name}),
        ("POST", "/api/v1/compact", {"table": name}),
        ("POST", f"/api/v1/tables/{name}/maintain", {}),
    ]
    for method, path, body in requests:
        answer = world.client.request(method, path, json=body, headers=headers)
        told = (path, body, answer.status_code, answer.text[:400])
        refused(answer.status_code, answer.json(), told)
        rows.one_more(str(answer.status_code), told)


def test_lambda(case):
    world, catalog, table = case
    headers = world.key("admin", f"{catalog}.{SPACE}", purge=True)
    function, rows = Function(lambda: world.neve), Rows(world)
    for body in bodies(table):
        event = {"httpMethod": "POST", "path": "/database", "headers": headers}
        answer = function({**event, "body": json.dumps(body)})
        told = (body, answer["statusCode"], answer["body"][:400])
        refused(answer["statusCode"], json.loads(answer["body"]), told)
        rows.one_more(str(answer["statusCode"]), told)


def test_commands(case, world, monkeypatch):
    own, catalog, table = case
    rows = Rows(own)
    monkeypatch.setenv("NEVE_CONFIG", str(world["folder"] / f"{catalog}.yaml"))
    other = ("plan", "health")[CASES.index((catalog, table)) % 2]
    for command in ("compact", other):
        done = CliRunner().invoke(app, [command, f"{catalog}.{SPACE}.{table}"])
        told = (command, done.output[:400], done.exception)
        assert done.exit_code == 1, told
        assert isinstance(done.exception, SystemExit), told
        assert done.stderr.startswith("Error: "), told
        clean(done.output, told)
        rows.one_more("refused", told)

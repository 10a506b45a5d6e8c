"""Ten families of bad input at three edges: refused in one sentence, nothing changed, one row."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest
import yaml
from starlette.testclient import TestClient
from tests.edges.access.conftest import OWN, SCHEMA, World
from tests.edges.access.issuer import KEY
from tests.edges.access.test_bad_input import FILTERS, NAMES
from tests.edges.database.lake import FIELDS, create, write
from tests.unit.catalog.rest_server import RestTable, serving
from typer.testing import CliRunner

from neve import Neve
from neve.api.app import create_app
from neve.aws_lambda.function import Function
from neve.cli.main import app
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

pytestmark = [pytest.mark.promise(62), pytest.mark.timeout(240)]

PLACE = {"tenant_id": "acme", "namespace": "default", "table": "users"}
SPACE = "t_acme__default"
CANARY = "canary-Q7-secret"
#: In a file of another tenant.
SECRET = "what-only-hush-knows"
LOCATIONS = [
    "../../other", "s3://other-bucket/", "file:///etc", "s3://b/t2", "s3://b//t", "S3A://B/t",
    f"s3://user:{CANARY}@b/t", "file:///etc ", "a%2Fb",
]  # fmt: skip
URIS = [
    "http://169.254.169.254/", "http://[::ffff:127.0.0.1]", "http://2130706433/", "gopher://x",
    f"http://user:{CANARY}@127.0.0.1/",
]  # fmt: skip
SCRIPTS = ["<script>alert(1)</script>", "javascript:alert(1)", '"><img src=x onerror=a()>']
OPTIONS = [
    {"target_file_size_mb": value} for value in (0, -1, 2**63, 1e999, "1e9", "NaN", None, [], True)
    if value is not None
] + [{"max_files": 10**9}, {"max_files": 1}, {"snapshot_retention_hours": 0},
     {"snapshot_retention_hours": 10**9}, {"force": "yes please"}, {"unknown": 1}]  # fmt: skip
STATEMENTS = [
    "SELECT * FROM read_parquet('/etc/passwd')", "ATTACH 'x'", "SELECT 1; SELECT 2",
    "SELECT * FROM hush.events", "SELECT * FROM t_hush__default.users", "COPY users TO '/tmp/x'",
    "SELECT * FROM " + "users, " * 3000 + "users", "(" * 5000 + "SELECT 1" + ")" * 5000,
    "SELECT current_setting('home_directory')", "PRAGMA database_list", "\x00", "SELECT '\ud800'",
]  # fmt: skip
DEEP = {"type": "int"}
for _ in range(40):
    DEEP = {"type": "list", "element": DEEP}


def forged(header, claims, signature=b"x"):
    parts = [json.dumps(header).encode(), json.dumps(claims).encode(), signature]
    return b".".join(base64.urlsafe_b64encode(p).rstrip(b"=") for p in parts).decode()


CLAIMS = {"iss": "http://127.0.0.1:1", "aud": "neve", "sub": "x", "exp": 2**33, "roles": ["ops"]}
TOKENS = [
    forged({"alg": "none"}, CLAIMS, b""), forged({"alg": "None", "kid": "k1"}, CLAIMS),
    forged({"alg": "HS256", "kid": "k1"}, CLAIMS),
    forged({"alg": "RS256", "kid": "../../k"}, CLAIMS),
    forged({"alg": "RS256", "kid": "k1", "jwk": KEY.as_dict(private=False)}, CLAIMS),
    "a.b.c", "..", "neve_aaaaaaaaaa_" + "x" * 43, "x" * 10_000,
]  # fmt: skip


WRITE = {"operation": "WRITE", **PLACE, "records": [{"name": "a"}]}
QUERY = {"operation": "QUERY", **PLACE}
COMPACT = {"operation": "COMPACT", **PLACE, "force": True}
CREATE = {"operation": "CREATE_TABLE", **PLACE, "schema": {"fields": FIELDS}}
NEW = {**CREATE, "table": "new"}
DAMAGED = ("garbage", "cut", "foreign", "gone", "lies")
WIDE = {f"c{number}": {"type": "int"} for number in range(1001)}


def bodies():
    """Family and body of requests to the database operations, which both of its edges take."""
    for name in NAMES:
        yield from ((1, {**WRITE, part: name}) for part in ("table", "namespace"))
        yield 1, {**CREATE, "table": name}
        yield 1, {**QUERY, "sql": f"SELECT * FROM {name}"}
    yield from ((2, {**COMPACT, "partition_filter": text}) for text in FILTERS)
    yield from ((2, {**QUERY, "sql": statement}) for statement in STATEMENTS)
    yield from ((3, {**COMPACT, **options}) for options in OPTIONS)
    yield from ((3, {**QUERY, "limit": limit}) for limit in (0, -1, 10**9, "all"))
    for location in LOCATIONS:
        yield 4, {**NEW, "location": location}
        yield 4, {**CREATE, "table": location}
        yield 4, {**QUERY, "sql": f"SELECT * FROM '{location}'"}
    for uri in URIS:
        yield 5, {**NEW, "catalog": {"uri": uri}}
        yield 5, {**QUERY, "catalog": uri}
        yield 5, {**WRITE, "namespace": uri}
    for tenant in ("hush", "", "a\u200b", "../acme", "*", "t_acme"):
        yield from ((6, {**body, "tenant_id": tenant}) for body in (WRITE, QUERY, COMPACT, NEW))
    yield from more_bodies()


def more_bodies():
    yield 7, {**WRITE, "records": [{"name": "a"}] * 10_001}
    yield 7, {**WRITE, "records": [{"name": "x", "age": 10**400}]}
    yield 7, {**WRITE, "idempotency_key": "k" * 256}
    yield from ((7, {**NEW, "schema": {"fields": fields}}) for fields in ({"a": DEEP}, WIDE))
    for script in SCRIPTS:
        yield 8, {**WRITE, "records": [{script: "a"}]}
        yield 8, {**QUERY, "sql": script}
        yield 8, {**WRITE, "operation": script}
    for table in DAMAGED:
        yield 9, {**QUERY, "table": table}
        yield 9, {**QUERY, "sql": f"SELECT count(*) FROM {table}"}
    yield 10, {**QUERY, "sql": f"SELECT * FROM users WHERE password = '{CANARY}'"}
    yield 10, {**WRITE, "records": [{CANARY: "x"}], "token": CANARY}


RAW = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 10_000, b'{"operation":' * 10_000, b"1e999"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return LocalLake(tmp_path_factory.mktemp("families") / "lake", name="lake")


def damage(lake, neve):
    """Tables of the tenant whose files are not what they say."""
    for name in ("garbage", "cut", "gone", "lies"):
        create(neve.database, "acme", name)
        write(neve.database, {"name": "a"}, tenant="acme", table=name)
        table = neve._app.catalogs.load(neve.table(f"lake.{SPACE}.{name}"))
        path = Path(next(iter(table.scan().plan_files())).file.file_path.removeprefix("file://"))
        good = path.read_bytes()
        bad = {
            "garbage": b"PAR1" + b"\xff" * 200 + struct.pack("<i", -1) + b"PAR1",
            "cut": good[: len(good) // 2],
            "lies": good[:-8] + struct.pack("<I", 2**31) + b"PAR1",
        }
        path.unlink() if name == "gone" else path.write_bytes(bad[name])
    secret = next(iter(lake.catalog.load_table(("t_hush__default", "users")).scan().plan_files()))
    table = lake.catalog.create_table(
        (SPACE, "foreign"), lake.catalog.load_table((SPACE, "garbage")).schema()
    )
    lake.commit(table, Manifest([FileEntry(secret.file.file_path, (), size_bytes=1000)]))


@pytest.fixture(scope="module")
def hostile_catalog():
    found = RestTable({}, "")
    found.configuration = {"defaults": {}, "overrides": {"uri": "http://169.254.169.254/"}}
    with serving(found) as uri:
        yield uri


@pytest.fixture(scope="module")
def world(lake, tmp_path_factory, hostile_catalog):
    folder = tmp_path_factory.mktemp("world")
    for namespace in ("acme", "hush"):
        table = lake.create(f"{namespace}.events", SCHEMA)
        files = [FileEntry(f"file:///{namespace}{i}", (), size_bytes=1000) for i in range(3)]
        lake.commit(table, Manifest(files))
    oidc = {"issuer": "http://127.0.0.1:1", "audience": "neve", "jwks_url": "http://127.0.0.1:1/k"}
    settings = {
        "catalogs": {"lake": lake.properties, "evil": {"type": "rest", "uri": hostile_catalog}},
        "default_catalog": "lake",
        "state": {"url": f"sqlite:///{folder}/state.db"},
        "access": {"enabled": True, "requests_per_minute": 100_000, "oidc": oidc},
    }
    (folder / "neve.yaml").write_text(yaml.safe_dump(settings))
    with Neve.open(folder / "neve.yaml") as neve:
        create(neve.database, "acme")
        create(neve.database, "hush")
        write(neve.database, {"name": SECRET}, tenant="hush")
        damage(lake, neve)
        with TestClient(create_app(neve), raise_server_exceptions=False) as client:
            made = World(neve, client)
            made.folder = folder
            yield made


def state_of(world):
    """All that bad input could have changed."""
    store, neve = world.store, world.neve
    tables = neve.find("lake.*").tables
    heads = {str(t): neve._app.catalogs.load(t).metadata.current_snapshot_id for t in tables}
    jobs = [(job.job_id, job.state) for job in store.jobs(limit=1000)]
    return heads, jobs, store.plans.newest(100), len(neve.access.all_keys())


class Watch:
    """Holds every answer against what is promised of all of them."""

    def __init__(self, world):
        self.world, self.before = world, state_of(world)
        self.row = world.neve.access.verify_audit()[0].number

    def check(self, outcome, text, told):
        assert "Traceback" not in text, told
        assert 'File "/' not in text, told
        rows = self.world.neve.access.audit_rows(limit=3)
        assert rows[0].number == self.row + 1, (told, [row.entry for row in rows])
        assert rows[0].entry.outcome == outcome, (told, rows[0].entry)
        self.row += 1

    def end(self):
        assert state_of(self.world) == self.before
        assert self.world.neve.access.verify_audit()[1] is None


def sentence(document, told):
    assert document["detail"].strip(), told
    assert "\n" not in document["detail"], told
    assert len(document["detail"]) < 2000, told


def test_rest(world):
    headers = world.key("admin", "lake.t_acme__*,lake.acme,evil", purge=True)
    watch = Watch(world)
    encoded = [(n, json.dumps(b).encode()) for n, b in bodies()] + [(7, raw) for raw in RAW]
    for family, body in encoded:
        typed = headers | {"Content-Type": "application/json"}
        answer = world.client.post("/api/v1/database", headers=typed, content=body)
        told = (family, body[:200], answer.status_code, answer.text[:300])
        assert 400 <= answer.status_code < 500, told
        assert answer.headers["content-type"] == "application/problem+json", told
        sentence(answer.json(), told)
        watch.check(str(answer.status_code), answer.text, told)
    for token in TOKENS:
        answer = world.client.get("/api/v1/jobs", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code in (401, 503), (token[:80], answer.text)
        assert answer.status_code == 401 or "RS256" in str(base64.b64decode(token[:40] + "=="))
        watch.check(str(answer.status_code), answer.text, token)
    answer = world.client.get("/api/v1/tables/evil.a.b", headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (424, "urn:neve:problem:catalog")
    watch.check("424", answer.text, "evil")
    watch.end()


def test_lambda(world):
    headers = world.key("admin", "lake.t_acme__*", purge=True)
    function = Function(lambda: world.neve)
    watch = Watch(world)
    encoded = [(n, json.dumps(b)) for n, b in bodies()]
    encoded += [(7, base64.b64encode(raw).decode()) for raw in RAW]
    for family, body in encoded:
        is_raw = family == 7 and not body.startswith("{")
        event = {"httpMethod": "POST", "path": "/database", "headers": headers, "body": body}
        answer = function({**event, "isBase64Encoded": is_raw})
        told = (family, body[:200], answer["statusCode"], answer["body"][:300])
        assert 400 <= answer["statusCode"] < 500, told
        sentence(json.loads(answer["body"]), told)
        watch.check(str(answer["statusCode"]), answer["body"], told)
    for token in TOKENS:
        event = {"httpMethod": "POST", "path": "/database", "body": "{}"}
        answer = function({**event, "headers": {"Authorization": f"Bearer {token}"}})
        assert answer["statusCode"] in (401, 503), (token[:80], answer)
        watch.check(str(answer["statusCode"]), answer["body"], token)
    watch.end()


NOWHERE = "lake.t_acme__default"
COMMANDS = [
    *((1, ["compact", name]) for name in NAMES
      if not {"\x00", "\ud800"} & set(name) and name not in ("*", "foo.*")),
    *((2, ["compact", OWN, "--where", text]) for text in FILTERS if len(text) < 50_000),
    *((3, ["compact", OWN, "--target-size", text]) for text in ("0", "-1", "NaN", "2e999", "x")),
    (3, ["expire", OWN, "--retain-last", "0"]), (3, ["expire", OWN, "--older-than", "-5d"]),
    *((4, ["orphans", OWN, "--restore", location]) for location in LOCATIONS),
    *((5, [command, uri]) for uri in URIS if "[" not in uri for command in ("tables", "health")),
    (5, ["health", "evil.a.b"]), (5, ["compact", "evil.a.b"]),
    (6, ["keys", "create", "x", "--role", "root"]), (6, ["keys", "revoke", "../../x"]),
    (6, ["keys", "create", "a\u0000b", "--role", "viewer"]),
    (7, ["history", "--limit", "999999999999999999999"]), (7, ["compact", "n." + "x" * 10_000]),
    *((8, ["cancel", script]) for script in SCRIPTS), *((8, ["job", script]) for script in SCRIPTS),
    *((9, ["health", f"{NOWHERE}.{name}_nope"]) for name in ("garbage", "cut")),
    (10, ["health", f"s3://user:{CANARY}@b.t"]), (10, ["--config", f"/no/{CANARY}", "tables"]),
]  # fmt: skip


def test_commands(world, monkeypatch):
    monkeypatch.setenv("NEVE_CONFIG", str(world.folder / "neve.yaml"))
    watch = Watch(world)
    for family, words in COMMANDS:
        done = CliRunner().invoke(app, words)
        told = (family, [word[:80] for word in words], done.output[:300], done.exception)
        assert done.exit_code == 1, told
        assert done.exception is None or isinstance(done.exception, SystemExit), told
        assert done.stderr.startswith("Error: "), told
        if "--config" in words:
            # Where there is no configuration there is no log.
            continue
        watch.check("refused", done.output, told)
    watch.end()
    assert (
        {family for family, _ in COMMANDS} == {family for family, _ in bodies()} == {*range(1, 11)}
    )


def test_nothing_of_another_tenant_is_told(world):
    rows = [row.text for row in world.neve.access.audit_rows(limit=5000)]
    query = {"operation": "QUERY", **PLACE, "table": "foreign", "sql": "SELECT * FROM foreign"}
    headers = world.key("admin", "lake.t_acme__*")
    answer = world.client.post("/api/v1/database", headers=headers, json=query)
    assert answer.json()["type"] == "urn:neve:problem:table-damaged"
    assert SECRET not in answer.text + "".join(rows)

"""Secrets in every setting that can hold one, every path failed, and everything searched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel
from starlette.testclient import TestClient
from typer.testing import CliRunner

from neve import Neve
from neve.access.rights import Grant, Role
from neve.api.app import create_app
from neve.aws_lambda.function import Function
from neve.cli.main import app
from neve.model.errors import NeveError
from neve.model.job import JobRequest
from neve.secrets import SECRET_NAME, hide_secrets, secrets_of
from neve.settings import Settings, load_settings
from neve.spark.session import DEFAULTS

pytestmark = pytest.mark.promise(61)

#: Names of settings that hold what nobody may know, as `Settings` has them. A setting of another
#: name that holds a secret must be put here and into `Settings.secrets`.
SECRETS = {
    "access.audit_key": "canary-audit-key-7Q",
    "database.service_key": "canary-service-key-7Q",
    "trino.password": "canary-trino-pw-7Q",
}
#: Texts in settings that are names, sizes, times and addresses.
PLAIN = {
    "default_catalog", "engine", "trino.host", "trino.user", "trino.http_scheme", "trino.catalog",
    "trino.schema_name", "trino.file_size_threshold", "trino.snapshot_retention",
    "trino.orphan_retention", "trino.min_retention", "trino.query_max_run_time", "spark.master",
    "spark.package",
    "state.prefix", "compaction.target_file_size", "compaction.min_row_group_size",
    "orphans.older_than", "server.host", "scheduler.default_schedule", "scheduler.timezone",
    "notifications.timezone", "access.oidc.issuer", "access.oidc.audience",
    "access.oidc.jwks_url", "access.oidc.name_claim", "access.oidc.tenant_claim",
    "database.catalog",
    "access.oidc.roles_claim", "access.oidc.roles", "access.quotas", "notifications.failures",
    "notifications.recoveries", "notifications.digest", "access.oidc.all_tenants_roles",
}  # fmt: skip
#: What is searched by the names of its own keys, or as an address.
SEARCHED = {"catalogs", "database.service_url", "spark.conf", "state.url", "notifications.channels"}


def texts_of(model: type[BaseModel], path: str = "") -> set[str]:
    """Every setting that may hold a free text, by its name."""
    found: set[str] = set()
    for name, field in model.model_fields.items():
        place = f"{path}{name}"
        kinds = [field.annotation, *get_args(field.annotation)]
        sections = [k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)]
        for section in sections:
            found |= texts_of(section, f"{place}.")
        is_map = any(get_origin(kind) is dict or kind is dict for kind in kinds)
        if not sections and (str in kinds or is_map):
            found.add(place)
    return found


def test_every_setting_that_holds_a_text_is_known_to_hold_a_secret_or_none():
    found = {place for place in texts_of(Settings) if not place.startswith("policies")}
    assert found - PLAIN - SEARCHED - set(SECRETS) == set()


#: Secrets by the names that pyiceberg, Hadoop and Spark give them: their sections take any name.
NAMES_OF_SECRETS = [
    "s3.access-key-id", "s3.secret-access-key", "s3.session-token", "client.secret-access-key",
    "glue.session-token", "dynamodb.secret-access-key", "token", "credential", "client_secret",
    "header.Authorization", "header.X-Api-Key", "gcs.oauth2.token", "hf.token",
    "gcp.bigquery.credentials-info", "adls.account-key", "adls.connection-string",
    "adls.sas-token", "adls.client-secret", "adls.credential", "jdbc.password",
    "spark.hadoop.fs.azure.account.key.lake.blob.core.windows.net",
    "spark.hadoop.fs.azure.sas.wh.lake.blob.core.windows.net",
    "spark.hadoop.fs.s3a.secret.key", "spark.hadoop.fs.s3a.access.key", "spark.ssl.keyPassword",
    "spark.authenticate.secret", "ssl.key.passphrase",
]  # fmt: skip
NAMES_OF_OTHERS = [
    "uri", "type", "warehouse", "s3.endpoint", "s3.region", "s3.path-style-access",
    "s3.sse-kms-key-id", "header.X-Iceberg-Access-Delegation", "adls.account-name",
    "spark.hadoop.fs.s3a.path.style.access", "spark.driver.memory", "spark.sql.sasl",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES_OF_SECRETS)
def test_secrets_of_catalogs_and_spark_are_known_by_their_names(name):
    assert "canary-7Q7" in secrets_of({"lake": {name: "canary-7Q7"}})


@pytest.mark.parametrize("name", NAMES_OF_OTHERS)
def test_what_is_no_secret_is_not_hidden(name):
    assert secrets_of({"lake": {name: "plain-value"}}) == []


def test_a_key_within_a_connection_string_is_a_secret_by_itself():
    said = "DefaultEndpointsProtocol=https;AccountName=lake;AccountKey=canary+7Q8=="
    secrets = secrets_of({"lake": {"adls.connection-string": said}})
    assert hide_secrets("The key canary+7Q8== of lake was refused.", secrets) == (
        "The key *** of lake was refused."
    )


def test_spark_leaves_the_same_settings_out_of_what_it_writes():
    assert DEFAULTS["spark.redaction.regex"] == SECRET_NAME.pattern


CANARIES = [
    "canary-token-7Q1", "canary-pw-7Q2", "canary-secret-7Q3", "canary-user-7Q4", "canary-spark-7Q5",
    "CanaryHook7Q6", "canary-account-7Q9", *SECRETS.values(),
]  # fmt: skip


@pytest.fixture
def config(tmp_path, monkeypatch):
    """A configuration with a secret wherever one can be, of which nothing answers."""
    monkeypatch.chdir(tmp_path)
    settings: dict[str, Any] = {
        "catalogs": {
            "rest": {
                "type": "rest",
                "uri": "http://canary-user-7Q4:canary-pw-7Q2@127.0.0.1:1/",
                "token": "canary-token-7Q1",
                "s3.secret-access-key": "canary-secret-7Q3",
                "adls.account-key": "canary-account-7Q9",
            },
            "sql": {"type": "sql", "uri": "sqlite:////no/such/folder/canary-pw-7Q2.db",
                    "password": "canary-pw-7Q2"},
        },
        "default_catalog": "rest",
        "spark": {"conf": {"spark.hadoop.fs.s3a.secret.key": "canary-spark-7Q5"}},
        "trino": {"password": SECRETS["trino.password"]},
        "notifications": {"channels": {"ops": "json://127.0.0.1:1/CanaryHook7Q6"}},
        "access": {"enabled": True, "audit_key": SECRETS["access.audit_key"]},
        "database": {
            "service_url": "http://canary-user-7Q4:canary-pw-7Q2@127.0.0.1:1/",
            "service_key": SECRETS["database.service_key"],
        },
    }  # fmt: skip
    Path("neve.yaml").write_text(yaml.safe_dump(settings))
    return settings


def assert_clean(*texts: object) -> None:
    for text in texts:
        for canary in CANARIES:
            assert canary not in str(text), (canary, str(text)[:500])


COMMANDS = [
    ["tables"], ["health", "rest.db.t"], ["plan", "sql.db.t"], ["compact", "rest.db.t"],
    ["jobs"], ["history"], ["doctor"], ["doctor", "rest.db.t"], ["maintain", "--dry-run"],
    ["policy", "list"], ["expire", "rest.db.t"], ["orphans", "sql.db.t"], ["keys", "list"],
    ["snapshots", "rest.db.t"], ["audit", "list"], ["rollback", "rest.db.t", "--to-snapshot", "1"],
]  # fmt: skip


@pytest.mark.timeout(120)
def test_commands_that_fail_tell_no_secret(config):
    for words in COMMANDS:
        logging = ["-vv", "--log-format", "json", "--log-file", "neve.log"]
        done = CliRunner().invoke(app, [*logging, *words, "-o", "json"])
        assert done.exception is None or isinstance(done.exception, SystemExit), words
        assert_clean(done.output)
    assert_clean(*(path.read_text("utf-8", "replace") for path in Path().glob("*.log")))
    rows = Path(".neve").glob("state.db*")
    assert_clean(*(path.read_bytes().decode("latin-1") for path in rows))


@pytest.mark.timeout(120)
def test_requests_that_fail_tell_no_secret(config):
    with Neve.open() as neve:
        _, secret = neve.access.create_key(
            "all", [Grant(Role.ADMIN, purge=True, policies=True)], all_tenants=True
        )
        headers = {"Authorization": f"Bearer {secret}"}
        store = neve._services.store
        with pytest.raises(NeveError):
            neve.submit("rest.db.t")
        store.submit("j1", JobRequest(neve.table("rest.db.t"), "rewrite_data_files"))
        with TestClient(create_app(neve), raise_server_exceptions=False) as client:
            for path, item in client.get("/openapi.json").json()["paths"].items():
                filled = path.replace("{table}", "rest.db.t").replace("{job_id}", "j1")
                for method in item:
                    if "{" in filled or filled.endswith("/events"):
                        continue
                    body = {"table": "rest.db.t", "reason": "x", "snapshot_id": 1}
                    answer = client.request(method, filled, headers=headers, json=body)
                    assert_clean(answer.text, answer.headers)
                    assert secret not in answer.text
        assert_clean(json.dumps([row.text for row in neve.access.audit_rows(limit=1000)]))
        assert_clean(store.jobs(), store.events_after("j1"), neve.readiness())
        assert secret not in json.dumps([row.text for row in neve.access.audit_rows(limit=1000)])


def database_bodies():
    place = {"tenant_id": "acme", "table": "users"}
    fields = {"fields": {"a": {"type": "string"}}}
    yield {"operation": "CREATE_TABLE", **place, "schema": fields}
    yield {"operation": "WRITE", **place, "records": [{"a": "b"}]}
    yield {"operation": "QUERY", **place, "sql": "SELECT 1 FROM users"}
    yield {"operation": "COMPACT", **place, "force": True}


@pytest.mark.timeout(120)
def test_database_operations_that_fail_tell_no_secret_on_either_edge(config, caplog):
    with Neve.open() as neve:
        grants = [Grant(Role.ADMIN, purge=True)]
        _, secret = neve.access.create_key("all", grants, all_tenants=True)
        headers = {"Authorization": f"Bearer {secret}"}
        function = Function(lambda: neve)
        with TestClient(create_app(neve), raise_server_exceptions=False) as client:
            for body in database_bodies():
                answer = client.post("/api/v1/database", headers=headers, json=body)
                event = {"httpMethod": "POST", "path": "/database", "headers": headers}
                told = function({**event, "body": json.dumps(body)})
                assert {answer.status_code, told["statusCode"]} <= {424, 502, 503}
                assert_clean(answer.text, answer.headers, json.dumps(told))
                assert secret not in answer.text + json.dumps(told)
            assert_clean(client.get("/metrics", headers=headers).text)
        rows = [row.text for row in neve.access.audit_rows(limit=1000)]
        assert len(rows) == 1 + 2 * 4
        assert_clean(json.dumps(rows), caplog.text, neve._services.store.jobs())
        assert secret not in json.dumps(rows) + caplog.text


@pytest.mark.timeout(120)
def test_a_state_that_cannot_be_reached_tells_no_secret(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = "redis://canary-user-7Q4:canary-pw-7Q2@127.0.0.1:1/0"
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/c.db", "warehouse": str(tmp_path)}
    settings = {"catalogs": {"lake": catalog}, "state": {"url": url}}
    Path("neve.yaml").write_text(yaml.safe_dump(settings))
    for words in (["jobs"], ["doctor"], ["keys", "list"]):
        done = CliRunner().invoke(app, ["-vv", *words, "-o", "json"])
        assert done.exit_code == 1, words
        assert_clean(done.output)


def test_settings_and_callers_do_not_show_secrets_by_themselves(config):
    loaded = load_settings()
    assert_clean(repr(loaded), str(loaded.access), str(loaded.trino))
    for canary in CANARIES:
        # A user's name in an address is hidden with its password.
        assert any(canary in secret for secret in loaded.secrets()), canary

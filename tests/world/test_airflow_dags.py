"""Each DAG of the project, run by `airflow dags test` against the stack."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
import yaml
from aiosmtpd.controller import Controller
from pyiceberg.catalog import load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, LongType, NestedField
from tests.system.stack_fixtures import CHECKOUT

from neve.spark.conf import catalog_conf, packages
from neve.spark.jars import resolve_jars
from neve.spark.java import find_java

LOG_COLUMNS = "table_name, operation, status, files_before, files_after, dag_run_id"
EVENTS = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "event_date", DateType(), required=False),
)


def test_every_table_is_maintained_and_one_that_fails_leaves_the_others_alone(
    airflow, airflow_connections, lake, stack
):
    lake.make_table("sales", files=4)
    lake.make_table("products", files=3)
    lake.make_table("broken", files=2)
    lake.sql(f"CREATE VIEW {lake.name('seen')} AS SELECT 1 AS one")
    for manifest in lake.folder("broken", stack).glob("metadata/*.avro"):
        manifest.write_bytes(b"")
    before = {name: lake.rows(name) for name in ("sales", "products")}

    run = airflow.test_dag("iceberg_maintenance", {"schema": lake.schema}, **airflow_connections)

    states = airflow.states("iceberg_maintenance", run)
    assert states == {
        ("discover_tables", -1): "success",
        ("run_maintenance", 0): "failed",
        ("run_maintenance", 1): "success",
        ("run_maintenance", 2): "success",
    }, airflow.said()
    logged = {(row[0], row[1]): row for row in lake.log(LOG_COLUMNS)}
    assert logged["sales", "optimize"] == ["sales", "optimize", "completed", 4, 1, run]
    assert logged["products", "optimize"] == ["products", "optimize", "completed", 3, 1, run]
    # The operations after the one that failed were tried, too.
    assert logged["broken", "optimize"][2] == "failed"
    assert len(logged) == 9
    assert {row[5] for row in logged.values()} == {run}
    assert {name: lake.rows(name) for name in before} == before
    lake.sql(f"DROP VIEW {lake.name('seen')}")


def test_a_trino_that_does_not_answer_is_asked_once_more_and_nothing_is_maintained(airflow):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        reach = {"conn_type": "trino", "host": "127.0.0.1", "port": nobody.getsockname()[1]}
        variables = {"AIRFLOW_CONN_TRINO_DEFAULT": json.dumps(reach)}
        run = airflow.test_dag("iceberg_maintenance", **variables)

    states = airflow.states("iceberg_maintenance", run)
    assert states == {
        ("discover_tables", -1): "failed",
        ("run_maintenance", -1): "upstream_failed",
    }, airflow.said()
    tries = "SELECT try_number FROM task_instance WHERE task_id = ? AND run_id = ?"
    assert airflow.ask(tries, "discover_tables", run) == [(2,)]
    assert "Connection refused" in airflow.said()


@pytest.fixture
def channels():
    """A mail server and a Slack that keep what they are sent."""
    mails, posts = [], []

    class Mailbox:
        async def handle_DATA(self, server, session, envelope):
            mails.append(envelope)
            return "250 OK"

    class Slack(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            posts.append((self.path, body))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"ok": true}')

        def log_message(self, *_):
            pass

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mail = Controller(Mailbox(), hostname="127.0.0.1", port=port)
    mail.start()
    slack = ThreadingHTTPServer(("127.0.0.1", 0), Slack)
    threading.Thread(target=slack.serve_forever, args=(0.05,), daemon=True).start()
    reach = {
        "conn_type": "smtp",
        "host": "127.0.0.1",
        "port": mail.server.sockets[0].getsockname()[1],
    }
    extra = {"disable_ssl": True, "disable_tls": True, "from_email": "neve@company.com"}
    base = f"http://127.0.0.1:{slack.server_port}/api/"
    variables = {
        "AIRFLOW_CONN_SMTP_DEFAULT": json.dumps({**reach, "extra": extra}),
        "AIRFLOW_CONN_SLACK_API_DEFAULT": json.dumps(
            {"conn_type": "slack", "password": "xoxb-1", "extra": {"base_url": base}}
        ),
    }
    yield variables, mails, posts
    mail.stop()
    slack.shutdown()
    slack.server_close()


@pytest.fixture
def production(rest_catalogs):
    """The two tables of the nightly DAG: yesterday's events in many files, and users."""
    ((_, properties),) = rest_catalogs.items()
    catalog = load_catalog("lakehouse", **properties)
    catalog.create_namespace_if_not_exists("production")
    day = (datetime.now(tz=UTC) - timedelta(days=1)).date()
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "event_date"))
    events = catalog.create_table("production.events", EVENTS, partition_spec=spec)
    for number in range(6):
        events.append(_rows(number, day))
    for number in range(2):
        events.append(_rows(number, day - timedelta(days=1)))
    users = catalog.create_table("production.cdc_users", EVENTS)
    for number in range(3):
        users.append(_rows(number, day))
    yield catalog
    for name in ("events", "cdc_users", "_maintenance_log"):
        if catalog.table_exists(f"production.{name}"):
            catalog.purge_table(f"production.{name}")
    catalog.drop_namespace("production")


def _rows(number, day):
    ids = pa.array(range(number * 100, number * 100 + 100), pa.int64())
    return pa.table({"id": ids, "event_date": pa.array([day] * 100, pa.date32())})


@pytest.fixture
def submitting(rest_catalogs, tmp_path):
    """What a machine with Spark has: its folder, its defaults, and Neve's configuration."""
    ((_, properties),) = rest_catalogs.items()
    catalogs = {"lakehouse": properties}
    java = find_java(os.environ)
    jars = resolve_jars(packages(catalogs), java, os.environ, lambda _: None)
    defaults = {
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.jars": ",".join(jars),
        **catalog_conf("lakehouse", properties),
    }
    lines = [f"{key} {value}\n" for key, value in defaults.items()]
    (tmp_path / "spark-defaults.conf").write_text("".join(lines))
    state = {"url": f"sqlite:///{tmp_path}/state.db"}
    (tmp_path / "neve.yaml").write_text(yaml.safe_dump({"catalogs": catalogs, "state": state}))
    home = Path(pyspark.__file__).parent
    return {
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(tmp_path),
        "PYSPARK_PYTHON": str(CHECKOUT / ".venv" / "bin" / "python"),
        "JAVA_HOME": str(java.home),
        "NEVE_CONFIG": str(tmp_path / "neve.yaml"),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "SPARK_BIN": str(home / "bin"),
    }


def test_tables_are_compacted_by_submitted_applications_and_the_report_is_true(
    airflow, airflow_connections, production, submitting, channels
):
    variables, mails, posts = channels
    path = os.pathsep.join([submitting.pop("SPARK_BIN"), airflow.environment["PATH"]])
    events = production.load_table("production.events")
    users = production.load_table("production.cdc_users")
    before = [_ids(events), _ids(users)]

    run = airflow.test_dag(
        "nightly_table_compaction", **airflow_connections, **submitting, **variables, PATH=path
    )

    states = airflow.states("nightly_table_compaction", run)
    assert set(states.values()) == {"success"}, airflow.said()
    assert [_ids(events.refresh()), _ids(users.refresh())] == before
    files = events.inspect.files()
    # Yesterday's six became one; the two of the day before are as they were.
    assert (len(files), len(users.inspect.files())) == (3, 1)
    text = airflow.xcom("nightly_table_compaction", run, "send_report")
    assert re.search(r"Events table:\n- Files compacted: 6 → 1 \(83% reduction\)", text), text
    assert re.search(r"CDC tables:\n- Files compacted: 3 → 1 \(67% reduction\)", text), text
    new = max(files["file_size_in_bytes"].to_pylist())
    assert f"→ {new / 1024:.1f} KB" in text
    assert len(re.findall(r"Query speedup: [\d.]+x \([\d.]+ s → [\d.]+ s", text)) == 2
    assert text.endswith("✅ All tables optimized")
    ((address, body),) = posts
    assert address == "/api/chat.postMessage"
    assert "data-ops" in body
    (mail,) = mails
    assert mail.rcpt_tos == ["data-ops@company.com"]
    assert b"Nightly Compaction Report" in mail.content


def _ids(table):
    return sorted(table.scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())

"""Credentials that only the catalog gives reach Spark's tasks, and no message shows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.system.engine_fixtures import IMPATIENT, make_app
from tests.system.stack_fixtures import RunningStack
from tests.system.test_remote_compaction import table  # noqa: F401 - a fixture
from tests.system.vending import vending_catalog

from neve.app import App
from neve.model.outcome import Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.model.table import TableRef
from neve.spark.conf import catalog_conf
from neve.spark.tables import spark_name
from neve.testing.lake import SilentReporter


@pytest.fixture
def app(spark: SparkSession, rest_catalogs: dict[str, dict[str, str]], tmp_path: Path) -> App:
    """The application that makes the table, with credentials of its own."""
    return make_app(spark, rest_catalogs, tmp_path / "state.db", SilentReporter())


@pytest.fixture(params=["config", "storage-credentials"])
def vended(
    request: pytest.FixtureRequest, stack: RunningStack, spark: SparkSession, tmp_path: Path
) -> Iterator[tuple[App, SilentReporter, str]]:
    """An application that knows no credential, over a catalog that vends them."""
    storage = stack.facts["s3"]
    keys = {
        "s3.access-key-id": storage["access_key"],
        "s3.secret-access-key": storage["secret_key"],
    }
    answer: dict[str, Any] = {"config": keys}
    if request.param == "storage-credentials":
        answer = {"storage-credentials": [{"prefix": "s3://", "config": keys}]}
    name = f"vended_{request.param.replace('-', '_')}"
    with vending_catalog(stack.facts["rest"]["uri"], answer) as uri:
        properties = {
            "type": "rest",
            "uri": uri,
            "s3.endpoint": storage["endpoint"],
            "s3.region": storage["region"],
            **IMPATIENT,
        }
        for key, value in catalog_conf(name, properties).items():
            spark.conf.set(key, value)
        said = SilentReporter()
        yield make_app(spark, {name: properties}, tmp_path / "vended.db", said), said, name


def test_a_compaction_runs_on_vended_credentials(
    table: TableRef,  # noqa: F811
    vended: tuple[App, SilentReporter, str],
    stack: RunningStack,
    capfd: pytest.CaptureFixture[str],
) -> None:
    app, said, name = vended
    same = TableRef(name, table.namespace, table.name)

    outcome = app.maintenance.compact(same, RewriteDataFilesArguments(), policy=CompactionPolicy())

    assert (outcome.status, outcome.engines["remote_copy"]) == (Status.SUCCEEDED, 1)
    rows = app.spark.session.sql(f"SELECT count(*) FROM {spark_name(same)}").collect()[0][0]
    assert rows == outcome.proof.rows_out  # type: ignore[union-attr]
    printed = capfd.readouterr()
    secret = stack.facts["s3"]["secret_key"]
    assert secret not in printed.out + printed.err + str(said.messages) + str(outcome)

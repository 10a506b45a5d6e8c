"""What Spark and Iceberg throw, in Neve's own words."""

from __future__ import annotations

import pytest

from neve.model.errors import CommitConflict, CommitUnknown, ExecutionError
from neve.spark.errors import engine_errors
from neve.spark.tables import iceberg


def raise_in_jvm(lake, name: str) -> None:
    """Let the JVM throw one of Iceberg's exceptions, as the cause of another."""
    jvm = lake.session._jvm
    cause = getattr(iceberg(lake.session).exceptions, name)
    cause = (
        cause(jvm.java.lang.RuntimeException("the disk is full"))
        if "Unknown" in name
        else (
            cause("the files are gone", lake.session.sparkContext._gateway.new_array(jvm.Object, 0))
        )
    )
    future = jvm.java.util.concurrent.CompletableFuture()
    future.completeExceptionally(cause)
    future.join()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ValidationException", CommitConflict),
        ("CommitFailedException", CommitConflict),
        ("CommitStateUnknownException", CommitUnknown),
    ],
)
def test_the_causes_decide_what_happened(lake, name, kind):
    with pytest.raises(kind, match=r"^Trying failed: ."), engine_errors("Trying"):
        raise_in_jvm(lake, name)


@pytest.mark.parametrize("statement", ["SELECT * FROM lake.nowhere.nothing", "SELECT FROM WHERE"])
def test_errors_of_sql_have_a_first_line(lake, statement):
    with (
        pytest.raises(ExecutionError, match=r"^Looking failed: \[[A-Z_.]+\]"),
        engine_errors("Looking"),
    ):
        lake.sql(statement).collect()


@pytest.mark.promise(61)
@pytest.mark.parametrize("name", ["s3.secret-access-key", "adls.account-key", "fs.azure.sas.wh.x"])
def test_spark_shows_no_secret_of_its_configuration(spark, name):
    key = f"spark.sql.catalog.nobodys.{name}"
    spark.conf.set(key, "canary-7Q")
    try:
        shown = {row.key: row.value for row in spark.sql("SET").collect()}
    finally:
        spark.conf.unset(key)
    assert "redacted" in shown[key]
    assert "canary-7Q" not in str(shown)

"""What another writer does to a table while Neve is at work on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

#: Each takes the session and the table's quoted name, and returns the name to look at afterwards.
Action = Callable[[SparkSession, str], str]


def _sql(*statements: str) -> Action:
    def act(session: SparkSession, name: str) -> str:
        for statement in statements:
            session.sql(statement.format(name=name))
        return name

    return act


def _append(session: SparkSession, name: str) -> str:
    known = [column.split(":")[0] for column in session.table(name).columns]
    values = {"id": "id + 1000", "kind": "concat('k', id % 3)", "amount": "cast(id AS double)"}
    picked = [f"{values.get(column, 'NULL')} AS {column}" for column in known]
    session.range(0, 5, 1, 1).selectExpr(*picked).writeTo(name).append()
    return name


def _drop_and_recreate(session: SparkSession, name: str) -> str:
    session.sql(f"DROP TABLE {name}")
    session.sql(
        f"CREATE TABLE {name} (id BIGINT, kind STRING, amount DOUBLE) USING iceberg "
        "PARTITIONED BY (kind)"
    )
    return _append(session, name)


def _rename(session: SparkSession, name: str) -> str:
    renamed = name.removesuffix("`") + "_moved`"
    session.sql(f"ALTER TABLE {name} RENAME TO {'.'.join(renamed.split('.')[1:])}")
    return renamed


def _write_to_a_branch(session: SparkSession, name: str) -> str:
    session.sql(f"ALTER TABLE {name} CREATE OR REPLACE BRANCH side")
    session.sql(f"INSERT INTO {name}.branch_side SELECT * FROM {name} LIMIT 3")
    return name


def _compact(session: SparkSession, name: str) -> str:
    iceberg: Any = session._jvm.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)
    table.refresh()
    actions = iceberg.spark.actions.SparkActions.get(session._jsparkSession)
    actions.rewriteDataFiles(table).option("rewrite-all", "true").execute()
    return name


def _roll_back(session: SparkSession, name: str) -> str:
    iceberg: Any = session._jvm.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)
    table.refresh()
    parent = table.currentSnapshot().parentId()
    table.manageSnapshots().rollbackTo(parent).commit()
    return name


ACTIONS: dict[str, Action] = {
    "append": _append,
    "delete": _sql("DELETE FROM {name} WHERE id % 7 = 3"),
    "update": _sql("UPDATE {name} SET id = id + 10000 WHERE id % 11 = 5"),
    "overwrite": _sql("INSERT OVERWRITE {name} PARTITION (kind = 'k1') SELECT 77 AS id, 7.0D"),
    "add column": _sql("ALTER TABLE {name} ADD COLUMN extra STRING"),
    "rename column": _sql("ALTER TABLE {name} RENAME COLUMN amount TO total"),
    "evolve spec": _sql("ALTER TABLE {name} ADD PARTITION FIELD bucket(2, id)"),
    "tag": _sql("ALTER TABLE {name} CREATE OR REPLACE TAG theirs"),
    "branch": _write_to_a_branch,
    "compact": _compact,
    "roll back": _roll_back,
    "rename": _rename,
    "drop and recreate": _drop_and_recreate,
}

"""What another writer does to a table while Neve is at work on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

#: Each takes the session and the table's quoted name, and returns the name to look at afterwards.
Action = Callable[[SparkSession, str], str]


class Refused(Exception):
    """The writer could not do it, because of the state of the table."""


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


def rewrite(session: SparkSession, name: str, *, kind: str | None = None) -> str:
    """Compaction by Iceberg's own action, of the whole table or of one partition."""
    iceberg = _jvm(session).org.apache.iceberg
    actions = iceberg.spark.actions.SparkActions.get(session._jsparkSession)
    action = actions.rewriteDataFiles(_table(session, name)).option("rewrite-all", "true")
    if kind is not None:
        action = action.filter(iceberg.expressions.Expressions.equal("kind", kind))
    action.execute()
    return name


def _roll_back(session: SparkSession, name: str) -> str:
    table = _table(session, name)
    parent = table.currentSnapshot().parentId()
    if parent is None or table.snapshot(parent) is None:
        raise Refused("There is no snapshot to go back to.")
    table.manageSnapshots().rollbackTo(parent).commit()
    return name


def _add_again(session: SparkSession, name: str) -> str:
    """Takes a file out and adds it again: the path is the same, and its rows have other ids.

    One without deletes: pyiceberg applies those of a partition to younger files as well.
    """
    table = _table(session, name)
    tasks = table.newScan().planFiles().iterator()
    file = None
    while file is None and tasks.hasNext():
        task = tasks.next()
        file = task.file().copy() if task.deletes().isEmpty() else None
    if file is None:
        raise Refused("There is no file without deletes.")
    table.newDelete().deleteFile(file).commit()
    table.newAppend().appendFile(file).commit()
    return name


def _upgrade(session: SparkSession, name: str) -> str:
    """From then on rows have ids, and the next commit gives them out."""
    session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version' = '3')")
    return _append(session, name)


def _expire(session: SparkSession, name: str) -> str:
    """By metadata alone: files that nobody needs any more are left to others."""
    table = _table(session, name)
    now = _jvm(session).java.lang.System.currentTimeMillis()
    expiry = table.expireSnapshots().expireOlderThan(now).cleanExpiredFiles(False)
    expiry.commit()
    return name


def _fast_forward(session: SparkSession, name: str) -> str:
    """Main takes over what a branch has: written there, then published."""
    session.sql(f"ALTER TABLE {name} CREATE OR REPLACE BRANCH audited")
    columns = ", ".join(column for column in session.table(name).columns if column != "id")
    session.sql(
        f"INSERT INTO {name}.branch_audited (id, {columns}) "
        f"SELECT id + 5000, {columns} FROM {name} ORDER BY id LIMIT 3"
    )
    _table(session, name).manageSnapshots().fastForwardBranch("main", "audited").commit()
    session.sql(f"ALTER TABLE {name} DROP BRANCH audited")
    return name


def _set_back_and_go_on(session: SparkSession, name: str) -> str:
    """Main is put on an older snapshot, and somebody writes on top of that."""
    _roll_back(session, name)
    return _append(session, name)


def _replace_table(session: SparkSession, name: str) -> str:
    """The same table with its old snapshots, but main begins anew."""
    session.sql(
        f"CREATE OR REPLACE TABLE {name} USING iceberg PARTITIONED BY (kind) "
        f"AS SELECT * FROM {name} WHERE id < 40"
    )
    return name


def _rewrite_manifests(session: SparkSession, name: str) -> str:
    actions = _jvm(session).org.apache.iceberg.spark.actions.SparkActions
    action = actions.get(session._jsparkSession).rewriteManifests(_table(session, name))
    action.execute()
    return name


def _jvm(session: SparkSession) -> Any:
    return session._jvm


def _table(session: SparkSession, name: str) -> Any:
    iceberg = _jvm(session).org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)
    table.refresh()
    return table


ACTIONS: dict[str, Action] = {
    "append": _append,
    "delete": _sql("DELETE FROM {name} WHERE id % 7 = 3"),
    "update": _sql("UPDATE {name} SET id = id + 10000 WHERE id % 11 = 5"),
    "overwrite": _sql("INSERT OVERWRITE {name} PARTITION (kind = 'k1') SELECT 77 AS id, 7.0D"),
    "delete whole files": _sql(
        "ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')",
        "DELETE FROM {name} WHERE id % 13 = 6",
    ),
    "merge": _sql(
        "MERGE INTO {name} t USING (SELECT explode(sequence(0, 80, 8)) AS id) s ON t.id = s.id "
        "WHEN MATCHED AND t.id % 16 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET t.id = t.id + 9000"
    ),
    "truncate": _sql("TRUNCATE TABLE {name}"),
    "add again": _add_again,
    "upgrade": _upgrade,
    "expire": _expire,
    "sort order": _sql("ALTER TABLE {name} WRITE ORDERED BY id"),
    "property": _sql("ALTER TABLE {name} SET TBLPROPERTIES ('comment' = 'theirs')"),
    "drop column": _sql("ALTER TABLE {name} DROP COLUMN amount"),
    "drop field": _sql("ALTER TABLE {name} DROP PARTITION FIELD kind"),
    "add column": _sql("ALTER TABLE {name} ADD COLUMN extra STRING"),
    "rename column": _sql("ALTER TABLE {name} RENAME COLUMN amount TO total"),
    "evolve spec": _sql("ALTER TABLE {name} ADD PARTITION FIELD bucket(2, id)"),
    "tag": _sql("ALTER TABLE {name} CREATE OR REPLACE TAG theirs"),
    "branch": _write_to_a_branch,
    "compact": rewrite,
    "roll back": _roll_back,
    "set back and go on": _set_back_and_go_on,
    "fast forward": _fast_forward,
    "replace table": _replace_table,
    "rewrite manifests": _rewrite_manifests,
    "keep files": _sql("ALTER TABLE {name} SET TBLPROPERTIES ('gc.enabled' = 'false')"),
    "rename": _rename,
    "drop and recreate": _drop_and_recreate,
}

"""Another table gets the name of the one that is being compacted: it is not written to."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.other_table import give_name_to_another

from neve.model.outcome import Status
from neve.model.policy import RewriteMode

pytestmark = pytest.mark.promise(3)


def put_another(lake, table):
    give_name_to_another(lake.app.catalogs.writable("lake"), (*table.namespace, table.name))


@pytest.mark.parametrize(
    ("engine", "commit"),
    [
        (RewriteMode.AUTO, "replace_files"),
        (RewriteMode.SPARK, "commit_staged"),
        (RewriteMode.AUTO, "change_files"),
    ],
)
def test_it_is_left_as_it_is(lake, monkeypatch, engine, commit):
    lake = replace(lake, engine=engine)
    properties = {"write.delete.mode": "merge-on-read"}
    table = lake.create(properties=properties)
    lake.fill(table)
    rows, real = lake.rows(table), lake.app.spark
    asked = []

    def before(name, act):
        call = getattr(real, name)

        def acting(*arguments):
            asked.append(name)
            act()
            return call(*arguments)

        monkeypatch.setattr(real, name, acting)

    if commit == "change_files":
        delete = f"DELETE FROM lake.{lake.namespace}.{table.name} WHERE id = 0"
        before("replace_files", lambda: asked.count("replace_files") < 2 and lake.sql(delete))
    before(commit, lambda: asked.count(commit) < 2 and put_another(lake, table))
    outcome = lake.compact(table)
    monkeypatch.undo()

    assert asked.count(commit) >= 1
    assert outcome.status is Status.FAILED
    assert "another table" in outcome.reason or "UUID does not match" in outcome.reason
    for each in (table, replace(table, name=f"{table.name}_before")):
        facts = lake.facts(each)
        assert not any(snapshot.operation == "replace" for snapshot in facts.snapshots)
        assert {ref.name for ref in facts.refs} == {"main"}
    if commit != "change_files":
        assert lake.rows(table) == rows

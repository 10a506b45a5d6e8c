"""Tables cured by the engine `rewrite`: the same rows, row ids, schema and statistics."""

from __future__ import annotations

import pytest

from neve.model.facts import ENGINE_PROPERTY
from neve.model.outcome import Status

pytestmark = pytest.mark.promise(1, 2)

COLUMNS = (
    "id BIGINT, kind STRING, small INT, price DECIMAL(12, 2), at TIMESTAMP, day DATE, "
    "x DOUBLE, ok BOOLEAN, raw BINARY, inner STRUCT<a: INT, b: STRING>, tags ARRAY<STRING>, "
    "named MAP<STRING, BIGINT>"
)
VALUES = (
    "id",
    "concat('k', k) kind",
    "if(id % 7 = 0, null, cast(id AS int)) small",
    "cast(id / 3 AS DECIMAL(12, 2)) price",
    "timestamp_seconds(id * 86400) at",
    "date_add(date'1960-01-01', cast(id AS int)) day",
    "if(id % 5 = 0, double('NaN'), -id / 9) x",
    "k = 1 ok",
    "encode(concat('r', id), 'utf-8') raw",
    "if(id % 4 = 0, null, named_struct('a', k, 'b', concat('b', id))) inner",
    "if(id % 3 = 0, array(), array('t', null, concat('t', id))) tags",
    "map('n', id) named",
)


def cured(lake, table, *, by="rewrite"):
    """Compact, and see that it was done by the engine that the test is about."""
    outcome = lake.compact(table)

    assert outcome.status is Status.SUCCEEDED, outcome.reason
    assert lake.head(table).summary[ENGINE_PROPERTY].startswith(f"{by}="), outcome.notes
    return outcome


@pytest.mark.parametrize("version", [1, 2, 3])
def test_tiny_files_become_one(lake, version):
    table = lake.create(COLUMNS, version=version)
    lake.fill(table, *VALUES, files=4, rows=100)
    look = lake.lineage if version == 3 else lake.rows
    before = look(table)

    outcome = cured(lake, table)

    assert outcome.reason == "4 files became 1."
    assert look(table) == before
    assert outcome.proof.level == "rows"

"""The second lock: a statement that nobody checked reaches nothing but its relations."""

from __future__ import annotations

import pyarrow as pa
import pytest

from neve.model.database import QueryLimits
from neve.model.errors import QueryRefused
from neve.query.duck import DuckQueries

rows = pa.table({"secret": ["variable of this process"]})


@pytest.fixture(scope="module")
def run():
    def run(statement, **relations):
        return DuckQueries().run(statement, relations, QueryLimits(), 5.0)

    return run


def test_relations_are_answered(run):
    found = run("SELECT max(a) AS m FROM r", r=pa.table({"a": [1, 3, 2]}))
    assert (found.rows, found.is_truncated) == ([{"m": 3}], False)


@pytest.mark.promise(54)
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM rows",
        "SELECT * FROM '{file}'",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM glob('{folder}/*')",
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "ATTACH '{folder}/x.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET memory_limit = '9GB'",
        "RESET memory_limit",
        "SET lock_configuration = false",
    ],
)
def test_nothing_else_is_reached(run, statement, tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("a\n1\n")
    with pytest.raises(QueryRefused):
        run(statement.format(file=file, folder=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


@pytest.mark.parametrize(
    "value",
    [
        "CAST('101' AS BIT)",
        "CAST(340282366920938463463374607431768211455 AS UHUGEINT)",
        "9999999999999999999999999999999999999999999999",
        "CAST('12:00:00+02' AS TIMETZ)",
        "CAST(1 AS VARIANT)",
        "CAST('POINT(1 2)' AS GEOMETRY)",
        "[{'a': CAST('101' AS BIT)}]",
    ],
)
def test_values_that_an_answer_would_tell_wrongly_are_refused(run, value):
    with pytest.raises(QueryRefused, match="which an answer cannot tell") as refused:
        run(f"SELECT {value} AS x")
    assert refused.value.next_step == "Ask for it as a text: CAST(column AS VARCHAR)."
    assert isinstance(run(f"SELECT CAST({value} AS VARCHAR) AS x").rows[0]["x"], str)

"""Conditions of a statement narrow what is read, and change no answer."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.edges.database.lake import create, open_neve, query, rows, write

from neve.database import statements
from neve.database.statements import read_statement
from neve.model.database import Condition
from neve.model.errors import QueryLimit

FIELDS = {
    "n": {"type": "integer"},
    "small": {"type": "int"},
    "text": {"type": "string"},
    "x": {"type": "double"},
    "day": {"type": "date"},
    "at": {"type": "timestamp"},
    "zoned": {"type": "timestamptz"},
    "price": {"type": "decimal(9, 2)"},
    "Flag": {"type": "boolean"},
}
ROWS = [
    {"n": 5, "small": 5, "text": "05", "x": 5.0, "day": "2024-01-01", "at": "2024-01-01T00:00:00"},
    {"n": 6, "text": "A", "x": -0.0, "day": "2024-02-29", "zoned": "2024-01-01T00:00:00+02:00"},
    {"n": -7, "small": 0, "text": "a", "price": "5.00", "Flag": True},
    {"n": 2**60, "text": "", "x": 1e300, "price": "-0.01", "Flag": False},
    {"text": "2024-01-01", "at": "2024-02-29T12:34:56.789"},
    {},
]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    with open_neve(tmp_path_factory.mktemp("pushing")) as neve:
        made = neve.database
        create(made, table="t", fields=FIELDS)
        write(made, *ROWS, table="t")
        parts = {"k": {"type": "integer"}, "v": {"type": "string"}}
        create(made, table="big", fields=parts, partitioning=[{"field": "k"}])
        write(made, *({"k": n % 3, "v": "x" * 50_000} for n in range(30)), table="big")
        yield made


STATEMENTS = [
    "SELECT n FROM t WHERE n = 5", "SELECT n FROM t WHERE 5 < n", "SELECT n FROM t WHERE n >= -7",
    "SELECT n FROM t WHERE n = 5.0", "SELECT n FROM t WHERE n = '5'",
    "SELECT n FROM t WHERE n <> 5",
    "SELECT n FROM t WHERE n IN (5, 6, 99)", "SELECT n FROM t WHERE n IN (5, NULL)",
    "SELECT n FROM t WHERE n NOT IN (5)", "SELECT n FROM t WHERE n IS NULL",
    "SELECT n FROM t WHERE NOT n IS NULL", "SELECT n FROM t WHERE n IS NOT NULL AND text IS NULL",
    "SELECT n FROM t WHERE small = 9999999999", "SELECT n FROM t WHERE n > 99999999999999999999",
    "SELECT n FROM t WHERE small > -9999999999", "SELECT n FROM t WHERE n BETWEEN 5 AND 6",
    "SELECT text FROM t WHERE text = 5", "SELECT text FROM t WHERE text = 'A'",
    "SELECT text FROM t WHERE text >= 'A'", "SELECT text FROM t WHERE text IN ('', 'a')",
    "SELECT x FROM t WHERE x > 4", "SELECT x FROM t WHERE x = 0", "SELECT x FROM t WHERE x = 5",
    "SELECT x FROM t WHERE x IS NOT NULL", "SELECT n FROM t WHERE day = '2024-01-01'",
    "SELECT n FROM t WHERE day > '2024-01-01'", "SELECT n FROM t WHERE day = DATE '2024-02-29'",
    "SELECT n FROM t WHERE day >= '2024-1-1'", "SELECT n FROM t WHERE text = '2024-01-01'",
    "SELECT text FROM t WHERE at > '2024-01-01 00:00:00'",
    "SELECT text FROM t WHERE at >= '2024-02-29T12:34:56'",
    "SELECT text FROM t WHERE at = '2024-01-01'",
    "SELECT n FROM t WHERE day = '2024-02-29 00:00:00'",
    "SELECT n FROM t WHERE zoned = '2023-12-31T22:00:00Z'", "SELECT n FROM t WHERE price = 5",
    "SELECT n FROM t WHERE price IN (5)", "SELECT n FROM t WHERE \"Flag\" IS NULL",
    "SELECT n FROM t WHERE flag IS NULL AND N = 5", "SELECT n FROM t WHERE n = 5 OR n = 6",
    "SELECT n FROM t WHERE (n = 5 OR n = 6) AND text = 'A'",
    "SELECT n FROM t WHERE NOT (n = 5)", "SELECT count(*) AS c FROM t WHERE n = 99",
    "SELECT n + 1 AS small FROM t WHERE small = 5", "SELECT n AS small FROM t WHERE small = 0",
    "SELECT small AS n FROM t WHERE n = 5", "SELECT t.n FROM t WHERE t.n = 5",
    "SELECT u.n FROM t AS u WHERE u.n = 5 AND n > 0",
    "SELECT a.n FROM t AS a, t AS b WHERE a.n = 5 AND b.n = 6",
    "SELECT a.n, b.n AS m FROM t AS a LEFT JOIN t AS b ON a.n = b.small WHERE b.n IS NULL",
    "SELECT n FROM t WHERE n = 5 UNION ALL SELECT n FROM t WHERE n = 6",
    "SELECT n FROM t WHERE n = (SELECT max(n) FROM t WHERE n < 6)",
    "SELECT n FROM t WHERE EXISTS (SELECT 1 FROM t AS i WHERE i.small = t.n)",
    "WITH w AS (SELECT * FROM t WHERE n = 5) SELECT * FROM w UNION ALL SELECT * FROM w",
    "WITH t AS (SELECT 1 AS n) SELECT n FROM t WHERE n = 2",
    "SELECT n FROM (SELECT n FROM t WHERE n > 0) AS s WHERE n = 5",
    "SELECT small, count(*) AS c FROM t WHERE n > 0 GROUP BY small HAVING count(*) = 1",
    "SELECT n, row_number() OVER (ORDER BY n) AS r FROM t WHERE n > 0 QUALIFY r = 2",
    "SELECT n FROM t WHERE n = 5 AND 1 = 1 AND n = n", "SELECT n FROM t WHERE 5 = 5 AND 'a' = text",
]  # fmt: skip


@pytest.mark.promise(54)
def test_no_answer_depends_on_what_was_left_out(database, monkeypatch):
    def told(statement):
        try:
            return sorted(map(repr, rows(database, statement, table="t")))
        except Exception as error:  # noqa: BLE001 - the same trouble is the same answer
            return str(error)

    pushed = {statement: told(statement) for statement in STATEMENTS}
    monkeypatch.setattr(statements, "conditions_on", lambda _: ())
    for statement, found in pushed.items():
        assert found == told(statement), statement


@pytest.mark.parametrize(
    ("where", "conditions"),
    [
        ("n = 5 AND (text IN ('a', 'b') AND -3 < small)",
         [("n", "=", (5,)), ("text", "in", ("a", "b")), ("small", ">", (-3,))]),
        ("n IS NULL AND t.n IS NOT NULL", [("n", "is null", ()), ("n", "is not null", ())]),
        ("n = 5 OR n = 6", []),
        ("n = n", []),
        ("lower(text) = 'a'", []),
        ("u.n = 5", []),
        ("n = 1.5", []),
        ("NOT n = 5", []),
    ],
)  # fmt: skip
def test_which_conditions_are_pushed(where, conditions):
    statement = read_statement(f"SELECT * FROM t WHERE {where}")
    found = statement.relations["relation_0"].wanted.conditions
    assert list(found) == [Condition(*condition) for condition in conditions]


def test_what_is_left_out_is_not_read(database, monkeypatch):
    """A table that is larger than QUERY reads can be asked for a part of it."""
    limits = replace(database.rules.query, max_scan_bytes=700_000)
    monkeypatch.setattr(database, "_rules", replace(database.rules, query=limits))
    with pytest.raises(QueryLimit):
        query(database, "SELECT v FROM big", table="big")
    found = rows(database, "SELECT count(v) AS c FROM big WHERE k = 1", table="big")
    assert found == [{"c": 10}]
    assert rows(database, "SELECT max(k) AS m FROM big", table="big") == [{"m": 2}]
    # Without a statement no more rows are read than are told.
    assert query(database, table="big", limit=5).row_count == 5

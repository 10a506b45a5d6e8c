"""QUERY: one SELECT on the tenant's own tables, and nothing else whatever is tried."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.database.lake import create, open_neve, query, rows, write

from neve.database.statements import MAX_LENGTH, read_statement
from neve.model.errors import NeveError, QueryLimit, QueryRefused, TableNotFound

HOSTILE = (Path(__file__).parent / "hostile.sql").read_text("utf-8").splitlines()
CANARY = "canary-of-another"
TYPED = {
    "day": {"type": "date"},
    "at": {"type": "timestamptz"},
    "price": {"type": "decimal(9, 2)"},
    "raw": {"type": "binary"},
    "x": {"type": "double"},
}


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    with open_neve(tmp_path_factory.mktemp("query"), query={"max_seconds": 5}) as neve:
        made = neve.database
        create(made)
        write(made, {"name": "ann", "age": 30}, {"name": "bob", "age": 20}, {"name": "cid"})
        create(made, table="typed", fields=TYPED)
        typed = {
            "day": "2024-02-29",
            "at": "2024-02-29T01:00:00+01:00",
            "price": "1.5",
            "raw": "AAE=",
        }
        write(made, {**typed, "x": 0.5}, table="typed")
        create(made, tenant="other", table="secrets", fields={"secret": {"type": "string"}})
        write(made, {"secret": CANARY}, tenant="other", table="secrets")
        yield made


@pytest.mark.promise(54)
def test_two_hundred_hostile_statements_are_refused_with_a_sentence(database):
    assert len(set(HOSTILE)) >= 200
    for statement in HOSTILE:
        with pytest.raises(NeveError) as caught:
            pytest.fail(f"{statement}: {query(database, statement)}")
        error = caught.value
        assert isinstance(error, QueryRefused | QueryLimit | TableNotFound), (statement, error)
        assert CANARY not in error.message
        assert "Traceback" not in error.message
        assert "\n" not in error.message


@pytest.mark.parametrize(
    "statement",
    [
        "(" * 5000 + "SELECT 1" + ")" * 5000,
        "SELECT " + "(" * 3000 + "1" + ")" * 3000,
        "SELECT " + "NOT " * 3000 + "true",
        "SELECT " + "1+" * 6000 + "1",
        "SELECT * FROM users WHERE age IN (" + ",".join(["1"] * 6000) + ")",
        "SELECT 1 -- " + "x" * MAX_LENGTH,
        "SELECT 1\0",
        "SELECT '\ud800'",
        "",
        " ",
        "--",
    ],
)
def test_statements_that_are_too_much_are_refused(database, statement):
    with pytest.raises(QueryRefused):
        read_statement(statement)


@pytest.mark.promise(54)
def test_other_tenants_tables_are_not_there(database):
    with pytest.raises(TableNotFound, match="no table secrets in namespace default"):
        query(database, "SELECT * FROM secrets")
    assert rows(database, "SELECT * FROM secrets", tenant="other", table="secrets") == [
        {"secret": CANARY}
    ]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT count(*) AS n FROM users", [{"n": 3}]),
        ("SELECT 1 AS one", [{"one": 1}]),
        ("SELECT name FROM users WHERE age > 20", [{"name": "ann"}]),
        ("SELECT NAME FROM users WHERE AGE > 20", [{"name": "ann"}]),
        ("SELECT name, name FROM users WHERE age = 30", [{"name": "ann", "name_1": "ann"}]),
        ("SELECT max(u.age) AS a FROM default.users AS u", [{"a": 30}]),
        (
            "WITH users AS (SELECT age + 1 AS age FROM users) SELECT sum(age) AS s FROM users",
            [{"s": 52}],
        ),
        (
            "SELECT a.name FROM users a JOIN users b ON a.age = b.age + 10 ORDER BY 1 LIMIT 1",
            [{"name": "ann"}],
        ),
        ("SELECT name FROM users EXCEPT SELECT name FROM users WHERE age > 0", [{"name": "cid"}]),
        (
            "SELECT name, row_number() OVER (ORDER BY age DESC NULLS LAST) AS r FROM users "
            "QUALIFY r = 1",
            [{"name": "ann", "r": 1}],
        ),
        (
            "SELECT CASE WHEN age IS NULL THEN 'none' ELSE upper(name) END AS c FROM users "
            "ORDER BY age NULLS FIRST LIMIT 1",
            [{"c": "none"}],
        ),
    ],
)
def test_what_is_asked_plainly_is_answered(database, statement, expected):
    assert rows(database, statement) == expected


def test_values_are_told_exactly(database):
    (row,) = rows(database, "SELECT *, x / 0 AS inf FROM typed", table="typed")
    assert row == {
        "day": "2024-02-29",
        "at": "2024-02-29T00:00:00+00:00",
        "price": "1.50",
        "raw": "0001",
        "x": 0.5,
        "inf": "inf",
    }


def test_without_a_statement_all_rows_are_told_up_to_a_limit(database):
    assert len(rows(database)) == 3
    answer = query(database, limit=2)
    assert (answer.row_count, answer.truncated) == (2, True)


@pytest.mark.promise(54)
def test_limits_of_time_rows_and_memory_end_a_query(tmp_path):
    limits = {"max_seconds": 0.2, "max_rows": 5}
    with open_neve(tmp_path, query=limits) as neve:
        create(neve.database)
        write(neve.database, *({"name": str(number), "age": number} for number in range(400)))
        assert query(neve.database).truncated
        product = ", ".join(f"users AS u{number}" for number in range(8))
        with pytest.raises(QueryLimit, match="longer than"):
            query(neve.database, f"SELECT count(*) AS n FROM {product}")


def test_more_than_is_read_is_refused(database, monkeypatch):
    monkeypatch.setattr(
        database, "_rules", _with_query(database.rules, max_scan_bytes=8, max_result_bytes=8)
    )
    with pytest.raises(QueryLimit, match="more than QUERY reads"):
        query(database, "SELECT name FROM users")
    with pytest.raises(QueryLimit, match="The answer"):
        query(database, "SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaa' AS a")


def _with_query(rules, **more):
    from dataclasses import replace

    return replace(rules, query=replace(rules.query, **more))

"""QUERY: one SELECT on the tenant's own tables, and nothing else whatever is tried."""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.edges.database.lake import ask, create, open_neve, query, rows, write

from neve.database.statements import MAX_LENGTH, read_statement
from neve.model.errors import (
    NeveError,
    QueryLimit,
    QueryRefused,
    TableDamaged,
    TableNotFound,
)
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

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
def test_three_hundred_hostile_statements_are_refused_with_a_sentence(database):
    assert len(set(HOSTILE)) >= 300
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
        (
            "SELECT count(*) AS n FROM users AS a NATURAL JOIN users AS b WHERE a.name <> ''",
            [{"n": 2}],
        ),
        (
            "SELECT u FROM users AS u WHERE name = 'ann'",
            [{"u": {"name": "ann", "age": 30}}],
        ),
        ("SELECT count(users) AS n FROM users", [{"n": 3}]),
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
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1 FROM users" + " JOIN users" * 30,
        "SELECT 1 FROM users" + " JOIN (SELECT 1 FROM users" * 10 + " JOIN users" * 10 + ")" * 10,
        "SELECT name" + "[1]" * 6_000,
        "SELECT name" + ".f()" * 4_000,
        "WITH a AS (" * 100 + "SELECT 1" + ") SELECT 1" * 100,
        "SELECT " + "abs(" * 3_000,
    ],
)
def test_a_statement_that_takes_long_to_read_is_refused_at_once(database, statement):
    # By the processor's time: a machine may be busy.
    began = time.thread_time()
    with pytest.raises(QueryRefused):
        query(database, statement)
    assert time.thread_time() - began < 2


@pytest.mark.parametrize(
    "moment", ["'infinity'::DATE", "'290000-01-01'::DATE", "'-infinity'::TIMESTAMP"]
)
def test_a_moment_that_has_no_text_is_told_as_such(database, moment):
    with pytest.raises(QueryRefused, match="moment outside of the years") as caught:
        query(database, f"SELECT {moment} AS at")
    assert "VARCHAR" in caught.value.next_step
    assert query(database, f"SELECT CAST({moment} AS VARCHAR) AS at").row_count == 1


def test_limits_of_rows_and_time_end_a_query(database, monkeypatch):
    limited = _with_query(database.rules, max_rows=2, max_seconds=0.5)
    assert query(database, limit=2).truncated
    monkeypatch.setattr(database, "_rules", limited)
    product = ", ".join(f"users AS u{number}" for number in range(30))
    with pytest.raises(QueryLimit, match="longer than"):
        query(database, f"SELECT count(*) AS n FROM {product}")


def test_no_more_queries_run_at_once_than_may(database, monkeypatch):
    monkeypatch.setattr(database, "_rules", _with_query(database.rules, max_seconds=0.01))
    monkeypatch.setattr(database, "_querying", threading.BoundedSemaphore(1))
    with database._querying, pytest.raises(QueryLimit, match="at once"):
        query(database, "SELECT 1 AS one")


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


def spoilt(path, seed):
    """Bytes of a file, some of them changed, most of those where lengths stand."""
    chance, spoilt = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 3, 20))):
        near_end = len(spoilt) - 1 - chance.randrange(min(len(spoilt), 600))
        place = chance.choice((near_end, chance.randrange(len(spoilt))))
        spoilt[place] = chance.choice((0, 255, 127, 128, chance.randrange(256)))
    return bytes(spoilt)


@contextmanager
def suppress_told(messages):
    try:
        yield
    except NeveError as error:
        messages.append(error.message)


def hostile_names(path, own):
    """Names of another's file; by some of them it seems to lie in the table's own folder."""
    back = "/..".join([""] * (path.count("/") + 1))
    home = own.removeprefix("file://")
    yield path
    for cut in "?#":
        yield f"{path}{cut}{back}{home}/data/x.parquet"
    below = "/".join(path.split("/")[-4:])
    yield f"{own}/../../{below}"
    yield f"{own}/data/../../../{below}"


def claims_all(table, warehouse):
    """Metadata in the table's own folder that says that its folder is the whole warehouse."""
    at = Path(table.metadata_location.removeprefix("file://"))
    said = json.loads(at.read_text()) | {"location": warehouse}
    hostile = at.with_name("99999-hostile.metadata.json")
    hostile.write_text(json.dumps(said))
    return f"file://{hostile}"


@pytest.mark.promise(54)
def test_files_of_others_are_not_read_by_whatever_name(tmp_path):
    with open_neve(tmp_path) as neve:
        made, lake = neve.database, LocalLake(tmp_path / "lake")
        create(made, tenant="other", table="secrets")
        write(made, {"name": CANARY}, tenant="other", table="secrets")
        path = next((tmp_path / "lake").rglob("*.parquet"))
        create(made)
        own = lake.catalog.load_table("t_a__default.users")
        for name in hostile_names(f"file://{path}", own.location()):
            entry = FileEntry(name, size_bytes=path.stat().st_size, records=1)
            lake.commit(own, Manifest([entry]), keeps=False)
            with pytest.raises(TableDamaged, match="own folder"):
                query(made)
            # Nor are they brought into that folder.
            for compact in (made.begin_compact, made.compact_here):
                with pytest.raises(TableDamaged, match="own folder"):
                    compact(ask("COMPACT", force=True))

        lake.commit(own, Manifest([replace(entry, path=f"file://{path}")]), keeps=False)
        hostile = claims_all(own, lake.properties["warehouse"])
        lake.catalog.drop_table("t_a__default.users")
        lake.catalog.register_table("t_a__default.users", hostile)
        with pytest.raises(TableDamaged, match="own folder"):
            query(made)


@pytest.mark.promise(54)
def test_a_small_file_of_rows_that_no_memory_holds_is_a_limit_and_no_damage(tmp_path):
    """Two million times the same long name: kilobytes in the file, and gigabytes of rows."""
    with open_neve(tmp_path) as neve:
        create(neve.database, fields={"name": {"type": "string"}})
        write(neve.database, {"name": "ann"})
        (path,) = (tmp_path / "lake").rglob("*.parquet")
        repeated = pa.repeat(pa.scalar(0, pa.int32()), 2_000_000)
        names = pa.DictionaryArray.from_arrays(repeated, ["x" * 1000])
        own = pa.field("name", names.type, metadata={"PARQUET:field_id": "1"})
        rows_of_it = pa.table([names], schema=pa.schema([own]))
        pq.write_table(rows_of_it, path, row_group_size=2_000_000, store_schema=False)
        assert path.stat().st_size < 2**20

        for statement in ("SELECT name FROM users", "SELECT max(length(name)) AS m FROM users"):
            with pytest.raises(QueryLimit, match=r"takes? more") as caught:
                query(neve.database, statement)
            assert "fewer columns" in caught.value.next_step
        assert rows(neve.database, "SELECT 1 AS one") == [{"one": 1}]


@pytest.mark.promise(62)
def test_whatever_bytes_files_hold_an_answer_or_a_sentence_comes(tmp_path):
    """Data files, manifests and manifest lists; WRITE reads manifest lists, too."""
    with open_neve(tmp_path) as neve:
        made = neve.database
        create(made)
        write(made, *({"name": "x" * n, "age": n} for n in range(50)))
        files = sorted((tmp_path / "lake").rglob("*.parquet")) + sorted(tmp_path.rglob("*.avro"))
        kept = {path: path.read_bytes() for path in files}
        messages = []
        for seed in range(24):
            path = files[seed % len(files)]
            path.write_bytes(spoilt(path, seed))
            with suppress_told(messages):
                rows(made, "SELECT sum(age) AS s FROM users WHERE age > 5")
            if path.suffix == ".avro" and seed % 2:
                with suppress_told(messages):
                    write(made, {"name": "y"})
            path.write_bytes(kept[path])
        assert len(messages) > 12
        assert not any("\n" in message for message in messages)
        assert rows(made, "SELECT max(age) AS m FROM users") == [{"m": 49}]

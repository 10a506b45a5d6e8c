"""Structs, lists and maps: made, written, asked and compacted, and told where they do not fit."""

from __future__ import annotations

import pytest
from tests.edges.database.lake import ask, create, open_neve, rows, write

from neve.model.errors import InputError, RecordsRefused

ADDRESS = {"city": {"type": "string", "required": True}, "zip": {"type": "int"}}
FIELDS = {
    "id": {"type": "long", "required": True},
    "address": {"type": "struct", "fields": ADDRESS},
    "tags": {"type": "list", "element": {"type": "string"}},
    "scores": {"type": "map", "key": {"type": "string"}, "value": {"type": "decimal(9, 2)"}},
    "ranks": {"type": "map", "key": {"type": "int"}, "value": {"type": "double"}},
    "visits": {
        "type": "list",
        "element": {
            "type": "struct",
            "required": True,
            "fields": {
                "at": {"type": "timestamp", "required": True},
                "zoned": {"type": "timestamptz"},
                "by": {"type": "map", "key": {"type": "time"}, "value": {"type": "date"}},
            },
        },
    },
}
FULL = {
    "id": 1,
    "address": {"city": "Oslo", "zip": None},
    "tags": ["a", None, ""],
    "scores": {"x": "1.50", "y": None},
    "ranks": [[3, 0.5], [-1, None]],
    "visits": [
        {"at": "2024-02-29T01:02:03.000004", "zoned": None, "by": [["23:59:59", "2024-02-29"]]},
        {"at": "2024-02-29T01:02:03", "zoned": "2024-02-29T00:00:00+00:00", "by": []},
    ],
}
EMPTY = {"id": 2, "address": None, "tags": [], "scores": {}, "ranks": None, "visits": None}


@pytest.fixture(scope="module")
def neve(tmp_path_factory):
    with open_neve(tmp_path_factory.mktemp("nested")) as opened:
        create(opened.database, fields=FIELDS)
        yield opened


def test_what_was_written_is_what_is_asked_for_also_after_a_compaction(neve):
    database = neve.database
    write(database, FULL, EMPTY)
    write(database, {"id": 3, "address": {"city": "Rom"}})
    third = {**dict.fromkeys(FIELDS), "id": 3, "address": {"city": "Rom", "zip": None}}
    for _ in range(2):
        found = rows(database, "SELECT * FROM users ORDER BY id")
        assert found == [FULL, EMPTY, third]
        parts = (
            "SELECT address.city AS c, tags[1] AS t, scores['x'] AS s, visits[2].at AS v "
            "FROM users WHERE address.city = 'Oslo'"
        )
        assert rows(database, parts) == [
            {"c": "Oslo", "t": "a", "s": "1.50", "v": "2024-02-29T01:02:03"}
        ]
        answer = database.compact_here(ask("COMPACT", force=True))
    assert answer.stats.files_after == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"address": "Oslo"}, "field address: an object is wanted"),
        ({"address": {}}, "field address.city: it is required"),
        ({"address": {"city": 1}}, "field address.city: a text is wanted"),
        ({"address": {"city": "a", "town": "b"}}, "field address: there is no field 'town' in it"),
        ({"tags": {"a": "b"}}, "field tags: a list is wanted"),
        ({"tags": ["a", 5]}, "field tags[1]: a text is wanted"),
        ({"scores": {"x": "1.005"}}, "field scores[0].value: it has more than 2 digits after"),
        ({"scores": [["x", "1"], ["x", "2"]]}, "field scores: a key comes twice"),
        ({"scores": [[None, "1"]]}, "field scores[0].key: it is required"),
        ({"scores": [["x"]]}, "field scores: an object is wanted, or a list of pairs"),
        ({"ranks": {"1": 0.5}}, "field ranks[0].key: a whole number is wanted"),
        ({"visits": [None]}, "field visits[0]: it is required"),
        ({"visits": [{"at": "2024-02-30T00:00:00"}]}, "field visits[0].at: there is no such"),
        ({"visits": [{"at": "2024-01-01T00:00:00Z"}]}, "field visits[0].at: the column has no"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(neve, value, message):
    with pytest.raises(RecordsRefused) as caught:
        write(neve.database, {"id": 9, **value})
    assert message in caught.value.message


def deep(levels):
    field = {"type": "int"}
    for _ in range(levels):
        field = {"type": "list", "element": field}
    return field


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"type": "struct"}, "takes fields"),
        ({"type": "list"}, "takes element"),
        ({"type": "list", "element": {"type": "blob"}}, "Field a.element: there is no type"),
        ({"type": "list", "element": {"type": "int"}, "key": {"type": "int"}}, "takes element"),
        ({"type": "map", "key": {"type": "int"}}, "takes key and value"),
        ({"type": "list", "element": {"type": "uuid"}}, "Field a.element: a UUID is a column"),
        ({"type": "string", "element": {"type": "int"}}, "takes none of"),
        ({"type": "struct", "fields": {"x": {"type": "int"}, "X": {"type": "int"}}}, "case alone"),
        (deep(16), "nested more than 16 deep"),
        ({"type": "struct", "fields": {f"c{n}": deep(2) for n in range(900)}}, "2000 columns"),
    ],
)
def test_what_cannot_be_made_is_refused(neve, field, message):
    with pytest.raises(InputError, match=message):
        create(neve.database, table="other", fields={"a": field})
    assert "other" not in [table.name for table in neve.tables()]


def test_nobody_partitions_by_what_is_made_of_others(neve):
    with pytest.raises(InputError, match="cannot be partitioned"):
        create(neve.database, table="other", fields=FIELDS, partitioning=[{"field": "tags"}])


def test_as_deep_as_may_be_is_written(neve):
    create(neve.database, table="deep", fields={"a": deep(15)})
    value = 7
    for _ in range(15):
        value = [value]
    write(neve.database, {"a": value}, table="deep")
    assert rows(neve.database, table="deep") == [{"a": value}]

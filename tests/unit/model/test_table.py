from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import InputError
from neve.model.table import TableRef, parse_table_ref, split_name


def parse(text: str) -> TableRef:
    return parse_table_ref(text, default_catalog="lake", catalogs={"lake": {}, "prod": {}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("db.t", TableRef("lake", ("db",), "t")),
        ("lake.db.t", TableRef("lake", ("db",), "t")),
        ("prod.a.b.t", TableRef("prod", ("a", "b"), "t")),
        ("lake.db.`odd.name`", TableRef("lake", ("db",), "odd.name")),
        ('lake.db."a;b"', TableRef("lake", ("db",), "a;b")),
        ("db.`a``b`", TableRef("lake", ("db",), "a`b")),
        ("db.täble", TableRef("lake", ("db",), "täble")),
    ],
)
def test_names_are_read(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "t",
        "a..b",
        ".a.b",
        "a.b.",
        "nowhere.db.t",
        "lake.db.t'; DROP TABLE x --",
        "lake.db.t; SET spark.x = y",
        "lake.db.`open",
        "lake.db.t\x00",
        "lake.db.`a\nb`",
        "lake.db.*",
        "lake.db.${jndi:x}",
        "lake." + "x" * 2000,
    ],
)
def test_what_is_no_name_is_refused(text):
    with pytest.raises(InputError):
        parse(text)


@given(
    st.lists(
        st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=20),
        min_size=1,
        max_size=5,
    )
)
def test_written_names_are_read_back(parts):
    ref = TableRef("lake", tuple(parts), "t")

    assert split_name(str(ref)) == ["lake", *parts, "t"]


def test_a_sibling_lies_in_the_same_namespace():
    assert str(TableRef("lake", ("db",), "t").sibling("_log")) == "lake.db._log"

"""Which table a tenant means: no two tenants mean the same one, in no case and no form."""

from __future__ import annotations

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.database.names import tenant_of, tenant_table
from neve.model.errors import InputError
from neve.model.table import TableRef

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)
#: Texts that try: separators, escapes, case, forms of the same letter.
TENANTS = st.text(st.sampled_from("ab_-.AÄäé0f5/\\%`\"' \u0301ß\U0001f600"), min_size=1, max_size=8)
PLACES = st.tuples(TENANTS, NAMES, NAMES)


@pytest.mark.promise(53)
@given(PLACES, PLACES)
def test_different_places_are_different_tables_whatever_the_case(one, other):
    first, second = (tenant_table("lake", *place) for place in (one, other))
    assert (first == second) == (one == other)
    assert (str(first).casefold() == str(second).casefold()) == (one == other)
    assert str(first) == normalize("NFKC", str(first))


@given(PLACES)
def test_a_table_tells_whose_it_is(place):
    assert tenant_of(tenant_table("lake", *place)) == place[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("a", "b_c", "t"), ("a_b", "c", "t")),
        (("a", "b__c", "t"), ("a__b", "c", "t")),
        (("a_5f", "x", "t"), ("a_", "x", "t")),
        (("A", "x", "t"), ("a", "x", "t")),
        (("\u00e9", "x", "t"), ("e\u0301", "x", "t")),
        (("a", "x", "t"), ("\uff41", "x", "t")),
        (("ß", "x", "t"), ("ss", "x", "t")),
    ],
)
def test_known_tricks_do_not_meet(one, other):
    assert tenant_table("lake", *one) != tenant_table("lake", *other)


def test_the_documented_names_are_readable():
    table = tenant_table("lake", "test-tenant", "default", "test_users")
    assert table == TableRef("lake", ("t_test_2dtenant__default",), "test_users")


@pytest.mark.parametrize(
    "place",
    [
        ("", "default", "t"),
        ("a\u200b", "default", "t"),
        ("a\n", "default", "t"),
        ("a" * 161, "default", "t"),
        ("é" * 54, "default", "t"),
        ("a", "Default", "t"),
        ("a", "_x", "t"),
        ("a", "a.b", "t"),
        ("a", "", "t"),
        ("a", "default", "_maintenance_log"),
        ("a", "default", "T"),
        ("a", "default", "t.files"),
        ("a", "default", "../t"),
        ("a", "default", "t\u0131"),
        ("a", "default", "t\n"),
        ("a", "default", "x" * 65),
    ],
)
def test_what_cannot_be_a_name_is_refused(place):
    with pytest.raises(InputError):
        tenant_table("lake", *place)


@pytest.mark.parametrize(
    "namespace", [("db",), ("t_a",), ("t_A__x",), ("t_a_zz__x",), ("t_a__x", "y")]
)
def test_a_table_of_nobody_is_no_tenants(namespace):
    assert tenant_of(TableRef("lake", namespace, "t")) is None

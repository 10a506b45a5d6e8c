from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.model.errors import FilterError
from neve.model.predicate import And, Comparison, In, IsNull, Not, Or, leaves
from neve.planning.filters import parse_filter

TODAY = date(2026, 1, 15)


def parse(text):
    return parse_filter(text, today=TODAY)


@pytest.mark.conformance("every operator of a filter")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1", Comparison("a", "=", 1, 0)),
        ("a != 'x''y'", Comparison("a", "<>", "x'y", 0)),
        ("a <> -1.5", Comparison("a", "<>", Decimal("-1.5"), 0)),
        ("a < 1 ", Comparison("a", "<", 1, 0)),
        (" a <= 1", Comparison("a", "<=", 1, 1)),
        ("a > 1e3", Comparison("a", ">", Decimal("1e3"), 0)),
        ("a >= TRUE", Comparison("a", ">=", True, 0)),
        ("`odd name` = 1", Comparison("odd name", "=", 1, 0)),
        ('"date" = 1', Comparison("date", "=", 1, 0)),
        ("a.b = 1", Comparison("a.b", "=", 1, 0)),
        ("d = DATE '2024-02-29'", Comparison("d", "=", date(2024, 2, 29), 0)),
        ("t = TIMESTAMP '2024-01-01 10:00:00'", Comparison("t", "=", datetime(2024, 1, 1, 10), 0)),
        ("d >= current_date", Comparison("d", ">=", TODAY, 0)),
        ("d >= current_date - 7", Comparison("d", ">=", date(2026, 1, 8), 0)),
        ("d < CURRENT_DATE() + 1", Comparison("d", "<", date(2026, 1, 16), 0)),
        ("a IN (1, 'b', -2)", In("a", (1, "b", -2), False, 0)),
        ("a NOT IN (1)", In("a", (1,), True, 0)),
        ("a IS NULL", IsNull("a", False, 0)),
        ("a is not null", IsNull("a", True, 0)),
        ("a = '--not a comment'", Comparison("a", "=", "--not a comment", 0)),
        ("NOT a = 1", Not(Comparison("a", "=", 1, 4))),
        (
            "a BETWEEN 1 AND 2",
            And((Comparison("a", ">=", 1, 0), Comparison("a", "<=", 2, 0))),
        ),
        (
            "a = 1 OR b = 2 AND c = 3",
            Or(
                (
                    Comparison("a", "=", 1, 0),
                    And((Comparison("b", "=", 2, 9), Comparison("c", "=", 3, 19))),
                )
            ),
        ),
        (
            "(a = 1 OR b = 2) AND c = 3",
            And(
                (
                    Or((Comparison("a", "=", 1, 1), Comparison("b", "=", 2, 10))),
                    Comparison("c", "=", 3, 21),
                )
            ),
        ),
    ],
)
def test_predicates_are_read(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("1 = 1", 0),
        ("a = b", 4),
        ("a LIKE 'x%'", 2),
        ("a + 1 = 2", 2),
        ("a = 1 + 1", 6),
        ("upper(a) = 'X'", 0),
        ("reflect('java.lang.System', 'exit') = 1", 0),
        ("a = (SELECT 1)", 4),
        ("a IN (SELECT b FROM c)", 6),
        ("a = 1; DROP TABLE x", 5),
        ("a = 1 -- more", 5),
        ("a = 1 /* more */ AND b = 2", 5),
        ("a = NULL", 4),
        ("a IS 1", 5),
        ("a = 1 AND", 9),
        ("(a = 1", 6),
        ("a = 1)", 5),
        ("a IN ()", 6),
        ("a BETWEEN 1 OR 2", 12),
        ('a = "text"', 4),
        ("d = DATE 'yesterday'", 9),
        ("d = current_date - x", 19),
        ("d = current_date - 99999999999", 19),
        ("true", 4),
        ("a = 0x1F", 5),
        ("a = 1e999999999", 4),
        ("a < -1e1000000", 5),
        ("a < 1e99999999999999999999", 4),
        ("a = 1e", 4),
    ],
)
def test_everything_else_is_refused_with_its_position(text, position):
    with pytest.raises(FilterError) as refusal:
        parse(text)

    assert refusal.value.position == position


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "a = 'open",
        "(" * 5000 + "a = 1" + ")" * 5000,
        "NOT " * 5000 + "a = 1",
        "a IN (" + ",".join(["1"] * 5000) + ")",
        "a = 1 OR " * 20000 + "a = 1",
    ],
)
def test_absurd_filters_are_refused_quickly(text):
    with pytest.raises(FilterError):
        parse(text)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        columns = [leaf.column for leaf in leaves(parse(text))]
    except FilterError as error:
        columns, position = ["refused"], error.position or 0
    else:
        position = 0

    assert all(columns)
    assert 0 <= position <= len(text)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["=", "<", ">="]), st.integers()),
        min_size=1,
        max_size=10,
    ),
    st.sampled_from([" AND ", " OR "]),
)
def test_comparisons_are_kept_in_order(comparisons, joint):
    text = joint.join(f"{column} {operator} {value}" for column, operator, value in comparisons)

    read = [(leaf.column, leaf.operator, leaf.value) for leaf in leaves(parse(text))]

    assert read == comparisons


def test_a_negative_number_keeps_all_its_digits():
    text = "123456789012345678901234567890123456789012345.5"

    assert parse_filter(f"x = -{text}", today=TODAY).value == -1 * Fraction(text)

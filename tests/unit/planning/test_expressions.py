from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from neve.model.groups import PartitionValue
from neve.model.predicate import And, Comparison, In, IsNull, Not, Or
from neve.planning.expressions import combine, from_partitions, from_predicate, to_json


def value(column="c", given="x", transform="identity"):
    return PartitionValue("p", transform, column, given)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (Comparison("a", "=", 1), {"type": "eq", "term": "a", "value": 1}),
        (Comparison("a", "<>", "x"), {"type": "not-eq", "term": "a", "value": "x"}),
        (
            Comparison("a", ">=", Decimal("1.50")),
            {"type": "gt-eq", "term": "a", "value": "1.50"},
        ),
        (
            Comparison("d", "<", date(2024, 1, 2)),
            {"type": "lt", "term": "d", "value": "2024-01-02"},
        ),
        (
            Comparison("t", ">", datetime(2024, 1, 2, 3, tzinfo=UTC)),
            {"type": "gt", "term": "t", "value": "2024-01-02T03:00:00.000000+00:00"},
        ),
        (In("a", (1, 2)), {"type": "in", "term": "a", "values": [1, 2]}),
        (In("a", (1,), negated=True), {"type": "not-in", "term": "a", "values": [1]}),
        (IsNull("a"), {"type": "is-null", "term": "a"}),
        (IsNull("a", negated=True), {"type": "not-null", "term": "a"}),
        (Not(IsNull("a")), {"type": "not", "child": {"type": "is-null", "term": "a"}}),
        (
            And((IsNull("a"), Or((IsNull("b"), IsNull("c"))))),
            {
                "type": "and",
                "left": {"type": "is-null", "term": "a"},
                "right": {
                    "type": "or",
                    "left": {"type": "is-null", "term": "b"},
                    "right": {"type": "is-null", "term": "c"},
                },
            },
        ),
    ],
)
def test_predicates_become_expressions(predicate, expected):
    assert from_predicate(predicate) == expected


@pytest.mark.parametrize("zero", [0.0, -0.0])
@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("=", '{"type":"in","term":"a","values":[-0.0,0.0]}'),
        ("<>", '{"type":"not-in","term":"a","values":[-0.0,0.0]}'),
        ("<", '{"type":"lt","term":"a","value":-0.0}'),
        ("<=", '{"type":"lt-eq","term":"a","value":0.0}'),
        (">", '{"type":"gt","term":"a","value":0.0}'),
        (">=", '{"type":"gt-eq","term":"a","value":-0.0}'),
    ],
)
def test_both_zeros_are_zero_to_whoever_filters(zero, operator, expected):
    assert to_json(from_predicate(Comparison("a", operator, zero))) == expected


def test_a_list_with_a_zero_has_both():
    expression = from_predicate(In("a", (0.0, 1.5)))

    assert to_json(expression) == '{"type":"in","term":"a","values":[-0.0,0.0,1.5]}'


def test_only_numbers_that_are_infinite_are_spelled_as_large_ones():
    words = In("Infinity", ('a":Infinity', "\\", "-Infinity"))

    assert json.loads(to_json(from_predicate(words)))["values"] == list(words.values)
    assert to_json(from_partitions([(value(given=math.inf),)])) == (
        '{"type":"in","term":"c","values":[1e999]}'
    )


def test_partitions_of_one_field_become_one_list():
    assert from_partitions([(value(given="x"),), (value(given="y"),)]) == {
        "type": "in",
        "term": "c",
        "values": ["x", "y"],
    }


def test_null_and_nan_have_tests_of_their_own():
    assert from_partitions([(value(given=None),)]) == {"type": "is-null", "term": "c"}
    assert from_partitions([(value(given=float("nan")),)]) == {"type": "is-nan", "term": "c"}


def test_transforms_are_terms():
    assert from_partitions([(value("id", 3, "bucket[4]"), value("k", "a"))]) == {
        "type": "and",
        "left": {
            "type": "eq",
            "term": {"type": "transform", "transform": "bucket[4]", "term": "id"},
            "value": 3,
        },
        "right": {"type": "eq", "term": "k", "value": "a"},
    }


@pytest.mark.parametrize("fields", [(), (value(transform="void"),), (value(column=None),)])
def test_a_partition_that_no_column_describes_is_everywhere(fields):
    assert from_partitions([fields]) is True


def test_a_long_alternative_is_a_shallow_tree():
    tree = combine("or", [{"type": "is-null", "term": str(i)} for i in range(1000)])

    def depth(node):
        return 1 + max((depth(node[side]) for side in ("left", "right") if side in node), default=0)

    assert depth(tree) == 11


def test_true_swallows_alternatives_and_disappears_from_conjunctions():
    other = {"type": "is-null", "term": "a"}

    assert combine("or", [other, True]) is True
    assert combine("and", [other, True]) == other
    assert combine("and", []) is True

"""Documents that are small on paper and large in memory are refused, soon."""

from __future__ import annotations

import time
import tracemalloc

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from neve.planning.yaml_documents import (
    MAX_BYTES,
    BadDocument,
    parse_json,
    parse_yaml,
    read_bounded,
)

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
MERGES = "m0: &m0 {k: v}\n" + "".join(
    f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 10)}], k{n}: v}}\n" for n in range(1, 12)
)
CASES = {
    "an alias bomb": (BOMB, "stands for more than 100,000 values"),
    "a bomb of merges": (MERGES, "stands for more than 100,000 values"),
    "a list that holds itself": ("a: &a [*a]", "holds itself, by its alias *a"),
    "a mapping that holds itself": ("a: &a {b: *a}", "holds itself, by its alias *a"),
    "an alias of nothing": ("a: *b", "holds itself, by its alias *b"),
    "nested lists": ("[" * 50_000, "is nested deeper than 64 levels"),
    "nested mappings": ("".join(f"{' ' * n}a:\n" for n in range(500)), "deeper than 64 levels"),
    "nested dashes": ("- " * 5_000, "is nested deeper than 64 levels"),
    "a date that there is not": ("a: 2026-99-99", "is not YAML"),
    "a number without end": ("a: " + "9" * 10_000, "is not YAML"),
    "no YAML": ("a: [", "is not YAML, line "),
    "tags that do not fit": ("[!!timestamp x]", "is not YAML"),
    "a word as a truth": ("!!bool x", "is not YAML"),
    "a number without digits": ("!!int ''", "is not YAML"),
    "an unknown tag": ("a: !!python/object/apply:os.system [ls]", "is not YAML, line 1"),
}


@pytest.mark.parametrize("case", CASES)
def test_hostile_documents_are_refused_within_bounds(case):
    text, sentence = CASES[case]
    tracemalloc.start()
    started = time.monotonic()

    with pytest.raises(BadDocument) as caught:
        parse_yaml(text)

    seconds, (_, peak) = time.monotonic() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sentence in str(caught.value)
    # A bomb would take minutes and gigabytes.
    assert (seconds < 30, peak < 200_000_000) == (True, True)


def test_very_many_values_are_refused():
    with pytest.raises(BadDocument, match="stands for more than 100,000 values"):
        parse_yaml("[" + "1," * 100_001 + "]")


def test_aliases_that_save_typing_are_read():
    text = "base: &base {a: 1, b: [1, 2]}\nx: {<<: *base, c: 3}\ny: *base\n"

    assert parse_yaml(text) == {
        "base": {"a": 1, "b": [1, 2]},
        "x": {"a": 1, "b": [1, 2], "c": 3},
        "y": {"a": 1, "b": [1, 2]},
    }


@pytest.mark.promise(27)
@pytest.mark.parametrize(
    "text",
    [
        "catalogs: {a: {type: sql}}\nstate: {}\ncatalogs: {b: {type: sql}}\n",
        "catalogs:\n  a: {type: sql}\n  'a': {type: rest}\n",
        "a: [{x: 1, y: 2, x: 3}]",
        "a: &a {x: 1, x: 2}\nb: *a",
        "{? {k: 1, k: 2} : 3}",
        "x: {<<: {a: 1}, <<: {b: 1}}",
    ],
)
def test_a_key_that_is_said_twice_is_not_half_ignored(text):
    """A catalog that is not known of is not asked whether its tables need a file."""
    with pytest.raises(BadDocument, match=r"has the key .* twice"):
        parse_yaml(text)


@pytest.mark.promise(27)
def test_a_merged_mapping_may_be_overruled_wherever_it_stands():
    text = "z: &z {a: 1}\nx: {y: &y {<<: *z, a: 2}}\nb: {<<: *y, a: 3}\n"
    text += "l: [{a: 1}, {a: 1}]\n1: i\n'1': s\n"
    found = parse_yaml(text)
    assert found["x"] == {"y": {"a": 2}}
    assert (found["b"], found["l"], found[1], found["1"]) == ({"a": 3}, [{"a": 1}] * 2, "i", "s")


@pytest.mark.promise(27)
@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '[{"a": {"b": 1, "c": 2, "b": 3}}]'])
def test_a_key_that_json_says_twice_is_refused(text):
    with pytest.raises(BadDocument, match=r"has the key [ab] twice"):
        parse_json(text)


def test_deep_json_is_refused():
    with pytest.raises(BadDocument, match="nested deeper"):
        parse_json("[" * 200_000)


def test_a_large_file_is_refused_unread(tmp_path):
    file = tmp_path / "large.yaml"
    with file.open("wb") as sparse:
        sparse.truncate(100 * MAX_BYTES)

    with pytest.raises(BadDocument, match="is larger than 2 MB"):
        read_bounded(file)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("abc: -#&*", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_yaml_writes_is_read_back(value):
    assert parse_yaml(yaml.safe_dump(value)) == value


@given(st.text("&*a[]{}:, \n-<!|>'\"", max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        parse_yaml(text)
    except BadDocument:
        return

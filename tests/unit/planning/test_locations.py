from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neve.planning.locations import is_within, path_of, store_of


@pytest.mark.parametrize(
    "spelling",
    [
        "file:/lake/t/a b",
        "file:///lake/t/a b",
        "/lake/t/a b",
        "file:///lake//t/a b",
        "file:///lake/./t/a b",
        "file:///lake/x/../t/a b",
        "file:///lake/t/a%20b",
        "file:///lake/t/a%2520b",
        "FILE:///lake/t/a b",
        "file://localhost/lake/t/a b",
    ],
)
def test_one_file_has_one_key_in_all_of_its_spellings(spelling):
    assert (store_of(spelling), path_of(spelling)) == ("file://", "/lake/t/a b")


def test_composed_and_decomposed_letters_are_equal():
    assert path_of("file:/t/\u00e9") == path_of("file:/t/e\u0301")


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n", "S3"])
def test_the_schemes_of_s3_are_one(scheme):
    assert store_of(f"{scheme}://bucket/key") == "s3://bucket"


def test_buckets_and_authorities_differ():
    assert store_of("s3://a/k") != store_of("s3://b/k")
    assert store_of("hdfs://one:8020/k") != store_of("hdfs://two:8020/k")


def test_a_sibling_whose_name_begins_alike_is_not_within():
    assert is_within("s3a://b/t/data/x", "s3://b/t/")
    assert is_within("s3://b/t", "s3://b/t")
    assert not is_within("s3://b/t2/x", "s3://b/t")
    assert not is_within("s3://c/t/x", "s3://b/t")


@settings(max_examples=50)
@given(st.text("ab/%20.+é ", max_size=20))
def test_normalising_never_fails_and_rests_at_once(text):
    once = path_of(f"s3://b/{text}")
    assert once.startswith("/")
    assert path_of(f"s3://b/{text}") == once

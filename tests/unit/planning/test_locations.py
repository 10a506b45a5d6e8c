from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neve.planning.locations import (
    comparable_path,
    is_surely_within,
    is_within,
    path_of,
    store_of,
)

pytestmark = pytest.mark.promise(22)


@pytest.mark.conformance("schemes, authorities and slashes")
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


@pytest.mark.parametrize(
    ("spelling", "store"),
    [
        ("hdfs://NN:8020/k", "hdfs://nn"),
        ("hdfs://nn:9000/k", "hdfs://nn:9000"),
        ("s3://key:secret@Bucket/k", "s3://bucket"),
        ("abfss://c@a.dfs.core.windows.net/k", "abfs://c@a"),
        ("oss://key:secret@b.oss-cn-hangzhou.aliyuncs.com/k", "oss://b"),
        ("cosn://b-125/k", "cos://b-125"),
        ("s3://my.bucket/k", "s3://my.bucket"),
        ("file://127.0.0.1/k", "file://"),
    ],
)
def test_hosts_are_compared_whatever_their_case_and_default_port(spelling, store):
    assert store_of(spelling) == store


def test_local_folders_are_found_by_their_names_in_any_case():
    assert is_within("file:/Lake/T/x", "file:/lake/t")
    assert not is_within("s3://b/T/x", "s3://b/t")
    assert comparable_path("s3://b/T/x") == comparable_path("s3://b/t/X")


def test_a_letter_in_two_parts_does_not_lose_one_to_an_escape():
    assert path_of("file:/%a\u00e9") == path_of("file:/%ae\u0301")


def test_buckets_and_authorities_differ():
    assert store_of("s3://a/k") != store_of("s3://b/k")
    assert store_of("hdfs://one:8020/k") != store_of("hdfs://two:8020/k")


def test_a_sibling_whose_name_begins_alike_is_not_within():
    assert is_within("s3a://b/t/data/x", "s3://b/t/")
    assert is_within("s3://b/t", "s3://b/t")
    assert not is_within("s3://b/t2/x", "s3://b/t")
    assert not is_within("s3://c/t/x", "s3://b/t")


@pytest.mark.parametrize(
    ("location", "is_sure"),
    [
        ("s3a://b/t/data/k=a%20b/f", True),
        ("s3://b/t/data/a..b", True),
        ("s3://b/t", False),
        ("s3://b/t2/f", False),
        ("s3://c/t/f", False),
        ("s3://b/T/f", False),
        ("s3://b/x/../t/f", False),
        ("s3://b/t/../u/f", False),
        ("s3://b/t/k=a%2F..%2F..%2Fb/f", True),
        ("s3://b/u/f?/../../t/f", False),
        ("s3://b/u/f#/../../t/f", False),
        ("s3://b/t/f?x", False),
        ("s3://b/%74/f", False),
    ],
)
def test_a_permission_needs_a_name_that_nobody_reads_otherwise(location, is_sure):
    assert is_surely_within(location, "s3://b/t/") is is_sure


@given(st.text("ab/%20.+é ", max_size=20))
def test_normalising_never_fails_and_rests_at_once(text):
    once = path_of(f"s3://b/{text}")
    assert once.startswith("/")
    assert path_of(f"s3://b/{text}") == once

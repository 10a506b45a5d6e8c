"""Which folders hold a table, by what lies in them."""

from __future__ import annotations

import pytest

from neve.model.orphans import KeptReason
from neve.planning.table_signs import foreign_folders, is_unclear, table_folder

pytestmark = pytest.mark.promise(22)

ROOT = "s3://lake/db/events"


@pytest.mark.parametrize(
    "sign",
    [
        "metadata/v1.metadata.json",
        "metadata/00003-5f2c.metadata.json",
        "metadata/00003-5f2c.gz.metadata.json",
        "metadata/v7.metadata.json.gz",
        "metadata/version-hint.text",
        "_delta_log/00000000000000000000.json",
        "_delta_log/_commits/00000000000000000001.json",
        ".hoodie/hoodie.properties",
        "schema/schema-0",
    ],
)
@pytest.mark.parametrize("folder", ["archive", "data/kind=k1/inner"])
def test_a_table_below_is_seen_by_its_metadata(folder, sign):
    assert table_folder(f"{ROOT}/{folder}/{sign}", [ROOT]) == f"{ROOT}/{folder}"


@pytest.mark.parametrize(
    "path",
    [
        "metadata/00003-5f2c.metadata.json",
        "metadata/version-hint.text",
        "archive/metadata/snap-1.avro",
        "archive/metadata.json",
        "data/x.parquet",
        "data/_delta_log=1/x.parquet",
        "data/_delta_log",
        "schema/schema-0.parquet",
        "data/schema=schema-0/x.parquet",
    ],
)
@pytest.mark.parametrize("root", [ROOT, f"{ROOT}/"])
def test_other_files_and_the_tables_own_metadata_are_no_signs(path, root):
    assert table_folder(f"{ROOT}/{path}", [root]) is None


def test_another_format_in_the_tables_own_folder_is_a_sign():
    assert table_folder(f"{ROOT}/_delta_log/0.json", [ROOT]) == ROOT


def test_where_the_table_reaches_metadata_the_folder_is_its_own():
    signs = [(None, True), ("/t/deep", False), ("/t/deep", True), ("/t/other", False)]
    assert foreign_folders(signs) == ("/t/other/",)


def test_folders_in_folders_are_one_and_names_alike_are_two():
    signs = [(folder, False) for folder in ("/t/a/b", "/t/a", "/t/ab", "/t/a/c")]
    assert foreign_folders(signs) == ("/t/a/", "/t/ab/")


@pytest.mark.parametrize(
    "name", ["v1.metadata.json", "00001-a.gz.metadata.json", "v1.metadata.json.gz"]
)
def test_metadata_that_is_not_reached_is_looked_into_however_young(name):
    path = f"{ROOT}/metadata/{name}"
    looked_into = [keep for keep in (None, *KeptReason) if is_unclear(path, keep)]

    assert {None, KeptReason.TOO_YOUNG, KeptReason.UNKNOWN_TIME} <= set(looked_into)
    assert KeptReason.REACHABLE not in looked_into
    assert KeptReason.OTHER_TABLE not in looked_into
    assert not is_unclear(f"{ROOT}/metadata/snap-1.avro", None)

"""Listing folders: everything once, links never followed, names exactly as they are."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from neve.model.errors import JobRefused
from neve.model.orphans import Listing
from neve.spark.list_files import as_row, key_of
from neve.storage.access import Storage, storage_of
from neve.storage.listing import folders
from neve.storage.listing.folders import Folder, lister_for, split_into_folders
from neve.storage.listing.s3 import S3Lister

pytestmark = pytest.mark.promise(22)

STORAGE = Storage()


def write(path, text="x"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def listed(root, storage=STORAGE):
    pieces = split_into_folders([root], storage)
    return [file for piece in pieces for file in lister_for(root, storage).files(piece)]


@pytest.fixture
def root(tmp_path):
    for name in ("a", "data/b", "data/k=1/c%20d", "data/k=1/deep/er/e", "metadata/m"):
        write(tmp_path / name)
    return f"file://{tmp_path}"


@pytest.mark.parametrize("enough", [1, 3, 256])
def test_every_file_is_listed_once_however_deep_folders_are_split(root, enough, monkeypatch):
    monkeypatch.setattr(folders, "ENOUGH_FOLDERS", enough)
    names = sorted(file.path.removeprefix(root) for file in listed(root))
    assert names == ["/a", "/data/b", "/data/k=1/c%20d", "/data/k=1/deep/er/e", "/metadata/m"]


def test_links_are_listed_as_what_they_are_and_not_followed(root, tmp_path):
    (tmp_path / "data" / "link").symlink_to(tmp_path / "a")
    (tmp_path / "data" / "loop").symlink_to(tmp_path)
    links = {f.path.rpartition("/")[2] for f in listed(root) if not f.is_regular}
    assert links == {"link", "loop"}
    assert len(listed(root)) == 7


def test_a_location_behind_a_link_is_refused(root, tmp_path):
    (tmp_path / "alias").symlink_to(tmp_path / "data")
    with pytest.raises(JobRefused, match="symbolic link"):
        split_into_folders([f"{root}/alias/k=1"], STORAGE)
    with pytest.raises(JobRefused, match="no folder"):
        split_into_folders([f"{root}/nothing"], STORAGE)


def test_size_and_time_are_those_of_the_file(root, tmp_path):
    os.utime(tmp_path / "a", ns=(0, 1_700_000_000_123_456_789))
    found = lister_for(root, STORAGE).look_up(f"{root}/a")
    assert (found.size_bytes, found.modified_ms, found.etag) == (1, 1_700_000_000_123, None)
    assert found in listed(root)
    assert lister_for(root, STORAGE).look_up(f"{root}/nothing") is None


def test_a_name_that_is_no_text_is_counted_and_kept(tmp_path):
    (tmp_path / "data").mkdir()
    with open(os.path.join(os.fsencode(tmp_path), b"data", b"\xff"), "w"):
        pass
    [file] = listed(f"file://{tmp_path}")
    row = as_row(file, Listing((f"file://{tmp_path}",), (), frozenset(), 2**50, 2**50))
    assert row[6] == "ambiguous"
    assert row[2].encode()


@pytest.mark.parametrize("location", ["abfss://c@a/t", "gs://b/t", "hdfs://n/t"])
def test_stores_that_cannot_be_listed_are_refused(location):
    with pytest.raises(JobRefused, match="cannot be swept"):
        lister_for(location, STORAGE)


def test_a_store_whose_requests_the_catalog_signs_is_refused():
    storage = storage_of({"s3.remote-signing-enabled": "true"})
    with pytest.raises(JobRefused, match="signed by the catalog"):
        lister_for("s3://b/t", storage)


def test_keys_are_equal_for_spellings_of_one_file():
    assert key_of("s3a://b/t//a%20b") == key_of("s3://b/t/a b")
    assert key_of("s3://b/t/a") != key_of("s3://b/t/b")


class FakeClient:
    """Keys of one bucket, two to a page."""

    def __init__(self, *keys):
        self.keys = sorted(keys)

    def get_paginator(self, operation):
        assert operation == "list_objects_v2"
        return self

    def paginate(self, Bucket, Prefix, Delimiter):
        contents, prefixes = [], set()
        for key in (key for key in self.keys if key.startswith(Prefix)):
            rest = key[len(Prefix) :]
            if Delimiter and Delimiter in rest:
                prefixes.add(Prefix + rest.partition(Delimiter)[0] + Delimiter)
            else:
                contents.append(_item(key))
        yield {"CommonPrefixes": [{"Prefix": prefix} for prefix in sorted(prefixes)]}
        for start in range(0, len(contents), 2):
            yield {"Contents": contents[start : start + 2]}


def _item(key):
    moment = datetime(2026, 1, 1, 0, 0, 1, 500000, tzinfo=UTC)
    return {"Key": key, "Size": 3, "ETag": '"abc"', "LastModified": moment}


def test_keys_of_a_bucket_are_listed_with_their_etags():
    keys = ("t/a", "t/data/k=1/b", "t/data/k=1//c", "t/data/d?e", "t/data/dir/", "t2/x")
    lister = S3Lister(FakeClient(*keys))
    assert lister.folders("s3a://b/t") == ["s3a://b/t/data"]
    found = list(lister.files(Folder("s3a://b/t", is_deep=True)))
    assert {file.path for file in found} == {f"s3a://b/{key}" for key in keys[:-1]}
    assert [file.path for file in found if not file.is_regular] == ["s3a://b/t/data/dir/"]
    assert (found[0].etag, found[0].modified_ms) == ("abc", 1_767_225_601_000)
    assert [f.path for f in lister.files(Folder("s3a://b/t", is_deep=False))] == ["s3a://b/t/a"]

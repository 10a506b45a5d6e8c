"""Whose metadata a file is, read from as little of it as tells that."""

from __future__ import annotations

import gzip
import json

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO

from neve.catalog.metadata_owners import HEAD_BYTES, metadata_owners
from neve.model.errors import TableUnreadable
from neve.model.orphans import MetadataOwner

pytestmark = pytest.mark.promise(22)

UUID = "7d3f1c9e-0d53-4f2c-9a52-0c1d6f1f8a11"
LONG = "x" * (2 * HEAD_BYTES)
#: A key that a value looks like.
SLY = json.dumps({"location": 'file:/"table-uuid": "another"/', "table-uuid": UUID})


def owner(folder, content, name="00001-a.metadata.json"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = metadata_owners(PyArrowFileIO({}), [f"file:{path}"])
    return found and (found[0].kind, found[0].uuid)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (f'{{"format-version":2,"table-uuid":"{UUID}","location":"x"}}', "table"),
        (json.dumps({"location": "x", "table-uuid": UUID}, indent=2), "table"),
        (f'{{"view-uuid" : "{UUID}","format-version":1}}', "view"),
        (json.dumps({"location": LONG, "table-uuid": UUID}), "table"),
        (json.dumps({"location": LONG, "view-uuid": UUID}), "view"),
        # Its writer was killed, and the beginning tells all the same.
        (f'{{"format-version":2,"table-uuid":"{UUID}","location":"x', "table"),
        (SLY, "table"),
    ],
)
@pytest.mark.parametrize("is_packed", [False, True])
def test_the_beginning_tells_it(tmp_path, content, kind, is_packed):
    packed = gzip.compress(content.encode()) if is_packed else content
    name = "v1.gz.metadata.json" if is_packed else "v1.metadata.json"

    assert owner(tmp_path, packed, name) == (kind, UUID)


@pytest.mark.parametrize(
    "content",
    ["{}", "[]", "{half", '{"format-version": 1}', b"\x1f\x8bnot packed", '{"table-uuid": 7}'],
)
def test_what_does_not_tell_it_is_an_error(tmp_path, content):
    with pytest.raises(TableUnreadable, match="may be metadata of another table") as raised:
        owner(tmp_path, content)
    assert "Delete that file" in raised.value.next_step


def test_what_is_empty_or_gone_by_now_is_nobodys(tmp_path):
    assert not owner(tmp_path, "")
    assert metadata_owners(PyArrowFileIO({}), [f"file:{tmp_path}/gone.metadata.json"]) == []


def test_a_folder_of_that_name_is_an_error(tmp_path):
    (tmp_path / "v1.metadata.json").mkdir()
    with pytest.raises(TableUnreadable):
        metadata_owners(PyArrowFileIO({}), [f"file:{tmp_path}/v1.metadata.json"])


def test_of_large_files_only_the_beginning_is_read(tmp_path, monkeypatch):
    def fail(*_):
        raise AssertionError("the whole file was read")

    monkeypatch.setattr("neve.catalog.metadata_owners.read_text", fail)
    content = json.dumps({"table-uuid": UUID, "snapshots": [LONG]})
    for number in range(50):
        (tmp_path / f"{number}.metadata.json").write_text(content)
    paths = [f"file:{path}" for path in tmp_path.iterdir()]

    assert metadata_owners(PyArrowFileIO({}), paths) == [
        MetadataOwner(path, "table", UUID) for path in sorted(paths)
    ]

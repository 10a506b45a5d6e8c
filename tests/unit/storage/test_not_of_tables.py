"""Databases and named files are no table's, by whatever name and wherever they lie."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import pytest
from tests.closed_folders import closed, open_folder

from neve.storage.not_of_tables import not_of_tables

pytestmark = pytest.mark.promise(22)


@pytest.fixture
def folder(tmp_path):
    """A database that nothing names, with what SQLite keeps beside it, and ordinary files."""
    with closing(sqlite3.connect(tmp_path / "catalog")) as database, database:
        database.execute("CREATE TABLE iceberg_tables (x)")
    for name in ("catalog-wal", "catalog-shm", "catalog-journal", "neve.yaml", "neve.yaml-wal"):
        (tmp_path / name).write_bytes(b"x")
    for name in ("orphan.parquet", "other-wal", "empty.db"):
        (tmp_path / name).write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path)
    return tmp_path


def test_databases_are_known_by_their_bytes_with_what_lies_beside_them(folder):
    paths = [f"file:{path}" for path in folder.iterdir() if not path.is_dir()]
    found = {path.rpartition("/")[2] for path in not_of_tables(paths, [])}

    assert found == {"catalog", "catalog-wal", "catalog-shm", "catalog-journal"}


@pytest.mark.parametrize("begin", ["file:", "file://", "file:///", ""])
def test_named_files_are_known_by_whatever_name(folder, begin):
    path = f"{begin}{str(folder).lstrip('/') if begin == 'file:///' else folder}"
    paths = [f"{path}/{name}" for name in ("neve.yaml", "neve.yaml-wal", "x/../neve.yaml")]
    gone = f"{path}/state.db-journal"
    named = [str(folder / "link" / "neve.yaml"), str(folder / "state.db")]

    assert not_of_tables([*paths, gone, f"{path}/orphan.parquet"], named) == {*paths, gone}


def test_what_may_not_be_read_may_be_a_database():
    with open_folder() as folder:
        (folder / "closed").mkdir()
        (folder / "f").write_bytes(b"x")
        (folder / "f").chmod(0)
        with closed(folder / "closed"):
            assert not_of_tables([f"file:{folder}/f"], []) == {f"file:{folder}/f"}


def test_objects_of_other_stores_are_not_opened(folder):
    assert not_of_tables([f"s3://lake{folder}/catalog"], []) == set()

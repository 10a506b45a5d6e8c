"""Copies of files with doubtful statistics: pyiceberg finds in them what the files hold."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from pyiceberg.io.pyarrow import pyarrow_to_schema
from tests.doubtful_files import QUESTIONS, SCHEMA, in_files, write

from neve.catalog.details import leaf_columns
from neve.parquet.copy_local import splice_local
from neve.parquet.indexes import load_source
from neve.parquet.splice import plan_splice
from neve.planning.metrics import merge_metrics
from neve.storage.readers import LocalReader
from neve.testing.local_lake import FileEntry, Manifest


def entry(path, size_bytes, records, metrics):
    fields = {name: value for name, value in asdict(metrics).items() if value is not None}
    return FileEntry(path, size_bytes=size_bytes, records=records, fields=fields)


@pytest.fixture
def copied(lake, tmp_path):
    """A table of the files, and one of their copy."""
    files = write(tmp_path / "data")
    schema = pyarrow_to_schema(SCHEMA)
    sources = [load_source(LocalReader(file.path.removeprefix("file://"))) for file in files]
    target = tmp_path / "data" / "copy.parquet"
    result = splice_local(plan_splice(sources), target, verify="bytes")
    before = lake.create("db.before", schema)
    entries = [entry(f.path, f.size_bytes, f.record_count, f.metrics) for f in files]
    lake.commit(before, Manifest(entries))
    after = lake.create("db.after", schema)
    merged = merge_metrics(files, leaf_columns(after.schema()))
    copy = entry(target.as_uri(), target.stat().st_size, result.rows, merged)
    lake.commit(after, Manifest([copy]))
    return files, before, after


def test_a_copy_is_found_by_every_predicate(copied):
    files, before, after = copied

    def find(table, question):
        return set(table.scan(row_filter=question.expression).to_arrow()["id"].to_pylist())

    for question in QUESTIONS:
        in_copy = find(after, question)
        assert find(before, question) <= in_copy, question
        assert in_copy == in_files(files, question), question


def test_columns_without_doubt_keep_their_bounds(copied):
    _, _, after = copied
    (task,) = after.scan().plan_files()

    assert set(task.file.lower_bounds) == {1, 7, 8}

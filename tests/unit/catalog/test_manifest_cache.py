from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from neve.catalog import manifest_cache
from neve.catalog.manifest_cache import ManifestCache
from neve.catalog.survey import survey
from neve.model.table import TableRef
from neve.testing.facts import NOW
from neve.testing.local_lake import FileEntry, Manifest

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
EVENTS = TableRef("lake", ("db",), "events")


@pytest.fixture
def table(lake):
    made = lake.create("db.events", SCHEMA)
    for number in range(3):
        lake.commit(made, Manifest([FileEntry(f"file:///{number}-{i}") for i in range(2)]))
    return made


@pytest.fixture
def read(monkeypatch):
    """Paths of manifests in the order in which they are really read."""
    paths = []
    real = manifest_cache.read_entries

    def reading(io, manifest, *, with_metrics):
        paths.append(manifest.manifest_path)
        return real(io, manifest, with_metrics=with_metrics)

    monkeypatch.setattr(manifest_cache, "read_entries", reading)
    return paths


def test_a_manifest_is_read_once_however_often_a_table_is_surveyed(lake, table, read):
    cache = ManifestCache()
    first = survey(EVENTS, table, now=NOW, cache=cache)
    lake.commit(table, Manifest([FileEntry("file:///new")]))
    second = survey(EVENTS, table, now=NOW, cache=cache)

    assert len(read) == len(set(read)) == 4
    assert {f.path for f in second.data_files} - {f.path for f in first.data_files} == {
        "file:///new"
    }


def test_the_same_facts_with_and_without_the_cache(table):
    cache = ManifestCache()
    survey(EVENTS, table, now=NOW, cache=cache)

    assert survey(EVENTS, table, now=NOW, cache=cache) == survey(EVENTS, table, now=NOW)


def test_what_does_not_fit_is_read_again(table, read):
    cache = ManifestCache(max_entries=5)
    for _ in range(2):
        assert len(survey(EVENTS, table, now=NOW, cache=cache).data_files) == 6

    assert len(read) > 3


def test_nothing_is_kept_where_nothing_may_be(table, read):
    for _ in range(2):
        survey(EVENTS, table, now=NOW)

    assert len(read) == 6

"""Metadata and manifests that cannot be read: findings, and never an error."""

from __future__ import annotations

import random

import pytest
from tests.edges.diagnosis.damage import codes, damaged, local, metadata_file, the

from neve.catalog.manifest_lists import read_list
from neve.testing.local_lake import Manifest

pytestmark = pytest.mark.promise(34)


@damaged
def test_a_manifest_list_that_cannot_be_read(lake, table, put, look, damage):
    lake.commit(table, Manifest([put("a")]))
    lake.commit(table, Manifest([put("b")]))
    lists = {s.snapshot_id: s.manifest_list for s in table.metadata.snapshots}

    damage(local(lists[1]))
    old = look()
    damage(local(lists[2]))
    both = look()

    assert codes(old) == {"snapshot_unreadable"}
    assert lists[1] in the(old, "snapshot_unreadable").evidence[0]
    assert {"snapshot_unreadable", "current_snapshot_unreadable"} <= codes(both)


@damaged
def test_a_manifest_that_cannot_be_read_does_not_hide_the_rest(lake, table, put, look, damage):
    lake.commit(table, Manifest([put("a")]))
    lost = put("b")
    lake.commit(table, Manifest([lost]))
    local(lost.path).unlink()
    broken = read_list(table.io, table.current_snapshot().manifest_list)[0].path
    damage(local(broken))

    diagnosis = look()

    assert codes(diagnosis) == {"manifest_unreadable", "data_file_missing"}
    (evidence,) = the(diagnosis, "manifest_unreadable").evidence
    assert evidence.startswith(broken)
    assert evidence.endswith("(snapshots 1, 2)")


@pytest.mark.parametrize("victim", ["manifest", "list"])
def test_flipped_bytes_give_findings_and_never_an_error(lake, table, put, look, victim):
    vector = put("p", content=1)
    lake.commit(table, Manifest([put(f"f{i}") for i in range(5)]), Manifest([vector]))
    snapshot = table.current_snapshot()
    path = local(
        snapshot.manifest_list
        if victim == "list"
        else read_list(table.io, snapshot.manifest_list)[1].path
    )
    whole, chance = path.read_bytes(), random.Random(7)
    for _ in range(25):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3, 30))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
        look()


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "null",
        '{"format-version": 9}',
        "[" * 100_000,
        '{"format-version": 2, "snapshots": [{"snapshot-id": 1e400}]}',
    ],
)
def test_hostile_metadata_is_a_finding(table, look, text):
    metadata_file(table).write_text(text)

    (evidence,) = the(look(), "metadata_unreadable").evidence

    assert "cannot be used: " in evidence
    assert "validation error" not in evidence


def test_a_packed_metadata_file_that_unpacks_without_end(lake, table, look, monkeypatch):
    import gzip

    from neve.catalog import checked_avro as careful

    monkeypatch.setattr(careful, "MAX_FILE_BYTES", 10_000)
    path = metadata_file(table).parent / "00001-bomb.gz.metadata.json"
    path.write_bytes(gzip.compress(bytes(1_000_000)))
    metadata_file(table).write_text("{}")

    (bomb,) = (file for file in look().recovery.candidates if "bomb" in file.location)

    assert bomb.problem == "unpacked it is over the limit of 10000 bytes"

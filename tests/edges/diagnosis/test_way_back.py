"""The way back from broken metadata, followed."""

from __future__ import annotations

import json

import pytest
from tests.edges.diagnosis.damage import codes, damaged, local, metadata_file, the

from neve.testing.local_lake import Manifest

pytestmark = pytest.mark.promise(37)


def test_a_lost_manifest_list_of_the_current_snapshot_has_a_way_back(lake, table, put, look):
    lake.commit(table, Manifest([put("a")]))
    before = table.metadata_location
    lake.commit(table, Manifest([put("b")]))
    local(table.current_snapshot().manifest_list).unlink()

    diagnosis = look()

    finding = the(diagnosis, "current_snapshot_unreadable")
    assert finding.next_step.endswith(
        "CALL `lake`.system.set_current_snapshot(table => '`db`.`events`', snapshot_id => 1)"
    )
    assert diagnosis.recovery.recommended == before


@damaged
def test_the_way_back_from_broken_metadata_can_be_followed(lake, table, put, look, damage):
    lake.commit(table, Manifest([put("a")]), summary={"total-records": "100"})
    before = table.metadata_location
    lake.commit(table, Manifest([put("b")]))
    damage(metadata_file(table))

    diagnosis = look()

    assert codes(diagnosis) == {"metadata_unreadable"}
    recovery = diagnosis.recovery
    assert recovery.recommended == before
    (best,) = (file for file in recovery.candidates if file.location == before)
    assert (best.snapshot_id, best.records, best.problem) == (1, 100, None)
    assert best.confirmed_by == "the catalog, as the metadata before the current one"
    assert recovery.statements[0] == (
        "CALL `lake`.system.register_table(table => '`db`.`events_recovered`', "
        f"metadata_file => '{before}')"
    )

    shown = {}
    exec(recovery.python, shown)

    assert look("db.events_recovered").findings == ()
    exec(recovery.python_swap, shown)
    assert shown["catalog"].load_table("db.events").current_snapshot().snapshot_id == 1
    assert look().findings == ()


def test_metadata_of_another_table_in_the_folder_is_not_offered(lake, table, put, look):
    lake.commit(table, Manifest([put("a")]))
    current = metadata_file(table)
    stranger = json.loads(current.read_text()) | {
        "table-uuid": "11111111-1111-1111-1111-111111111111",
        "last-updated-ms": 4102444800000,
    }
    (current.parent / "00009-x.metadata.json").write_text(json.dumps(stranger))
    current.write_text(current.read_text()[:300])

    recovery = look().recovery

    assert len(recovery.candidates) == 3
    assert local(recovery.recommended).name.startswith("00000-")


def test_a_table_with_no_readable_metadata_says_so(lake, table, look):
    metadata_file(table).write_text("{}")

    diagnosis = look()

    assert diagnosis.recovery.recommended is None
    assert "bring one back" in the(diagnosis, "metadata_unreadable").next_step

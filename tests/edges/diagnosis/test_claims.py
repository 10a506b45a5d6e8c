"""Metadata and manifests that contradict themselves; the sound twin is not accused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.manifest import MANIFEST_LIST_FILE_SCHEMAS
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.transforms import VoidTransform
from pyiceberg.typedef import Record
from tests.edges.diagnosis.damage import codes, edit_metadata, local, the

from neve.model.diagnosis import Severity
from neve.model.errors import TableNotFound
from neve.testing.local_lake import EXISTING, Manifest

pytestmark = pytest.mark.promise(35)


def rewrite_list(table, **changes):
    """Write the current manifest list again, with other values in its first line."""
    location = table.refresh().current_snapshot().manifest_list
    version = table.metadata.format_version
    schema = MANIFEST_LIST_FILE_SCHEMAS[version]
    lines = table.current_snapshot().manifests(table.io)
    names = [field.name for field in schema.fields]
    rows = [{name: getattr(line, name, None) for name in names} for line in lines]
    rows[0].update(changes)
    local(location).unlink()
    with AvroOutputFile[Record](
        table.io.new_output(location), schema, "manifest_file", metadata={}
    ) as out:
        out.write_block([Record(*(row[name] for name in names)) for row in rows])


def test_a_sound_table_has_no_findings(lake, table, put, look):
    summary = {"total-data-files": "2", "total-records": "200", "total-delete-files": "0"}
    lake.commit(table, Manifest([put("a"), put("b", "tue")]), summary=summary)

    diagnosis = look()

    assert (diagnosis.findings, diagnosis.is_sound, diagnosis.recovery) == ((), True, None)
    coverage = diagnosis.coverage
    assert (coverage.snapshots, coverage.manifests, coverage.files_in_storage) == (1, 1, 2)
    assert coverage.not_checked == ("No data file was opened: --deep does.",)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_an_empty_table_and_every_version_are_sound(lake, create, look, put, version):
    table = create(format_version=version)
    assert look().findings == ()

    lake.commit(table, Manifest([put("a")]))
    lake.commit(table, Manifest([put("b")]))

    assert look().findings == ()


def test_a_table_that_does_not_exist_is_no_diagnosis(table, look):
    with pytest.raises(TableNotFound):
        look("db.nothing")


def test_a_data_file_that_is_listed_twice(lake, table, put, look):
    file = put("a")
    lake.commit(table, Manifest([file, put("b")]))
    assert look().findings == ()

    lake.commit(table, Manifest([file]))

    finding = the(look(), "data_file_twice")
    assert finding.evidence == (f"snapshot 2: {file.path} (2 times)",)


def test_two_vectors_for_one_data_file_and_one_that_dangles(lake, create, put, look):
    table = create(format_version=3)
    data = put("a")
    lake.commit(table, Manifest([data]))

    def vector(name, offset, of):
        at = {"referenced_data_file": of, "content_offset": offset, "content_size_in_bytes": 3}
        return put(name, content=1, format="PUFFIN", fields=at)

    one = vector("v", 0, data.path)
    lake.commit(table, Manifest([one]))
    assert look().findings == ()

    lake.commit(table, Manifest([vector("v", 3, data.path), vector("v", 6, "file:///gone")]))

    diagnosis = look()
    assert the(diagnosis, "two_deletion_vectors").evidence == (
        f"snapshot 3: {data.path}: {one.path} at 0, {one.path} at 3",
    )
    assert the(diagnosis, "dangling_deletes").evidence == (
        f"snapshot 3: deletion vector {one.path} of file:///gone",
    )


def test_deletes_that_act_on_nothing(lake, table, put, look):
    lake.commit(table, Manifest([put("a", "mon")]))
    acting = [put("p", "mon", content=1), put("e", "mon", content=2)]
    lake.commit(table, Manifest(acting))
    assert look().findings == ()

    lake.commit(table, Manifest([put("q", "tue", content=1), put("f", "tue", content=2)]))

    finding = the(look(), "dangling_deletes")
    assert (finding.severity, finding.count) == (Severity.WARNING, 2)


def test_an_equality_delete_of_the_same_commit_acts_on_older_files_only(lake, table, put, look):
    lake.commit(table, Manifest([put("a")]), Manifest([put("e", content=2)]))

    assert codes(look()) == {"dangling_deletes"}


#: What version 1 leaves of a spec whose only field was dropped.
VOID = PartitionSpec(PartitionField(2, 1000, VoidTransform(), "day"))


@pytest.mark.parametrize(
    ("spec", "partition"), [(UNPARTITIONED_PARTITION_SPEC, ()), (VOID, (None,))]
)
def test_equality_deletes_without_a_partition_are_information(
    lake, create, put, look, spec, partition
):
    table = create(spec)
    lake.commit(table, Manifest([replace(put("a"), partition=partition)]))
    lake.commit(table, Manifest([replace(put("e", content=2), partition=partition)]))

    diagnosis = look()

    assert codes(diagnosis) == {"global_equality_deletes"}
    assert diagnosis.is_sound


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"added_files_count": 0}, "manifest_file_counts", "the list says 0 added files"),
        ({"deleted_files_count": 3}, "manifest_file_counts", "the list says 3 deleted files"),
        ({"existing_rows_count": 5}, "manifest_row_counts", "the list says 5 existing rows"),
        ({"sequence_number": 9}, "sequence_numbers_out_of_order", "sequence number 1"),
        ({"min_sequence_number": 9}, "entry_sequence_numbers", "9 is its least, a file has 1"),
        ({"partition_spec_id": 7}, "manifest_nonsense", "no partition spec 7"),
    ],
)
def test_a_manifest_list_that_contradicts_its_manifest(lake, table, put, look, changes, code, said):
    lake.commit(table, Manifest([put("a")]))
    rewrite_list(table)
    assert look().findings == ()

    rewrite_list(table, **changes)

    assert said in the(look(), code).evidence[0]


def test_totals_of_a_summary_that_are_wrong(lake, table, put, look):
    lake.commit(
        table, Manifest([put("a")]), summary={"total-records": "7", "total-data-files": "1"}
    )

    diagnosis = look()

    assert the(diagnosis, "snapshot_totals").evidence == (
        "snapshot 1: total-records is 7, manifests hold 100",
    )
    assert diagnosis.is_sound


def test_a_ref_to_an_unknown_snapshot(lake, table, put, look):
    lake.commit(table, Manifest([put("a")]))
    edit_metadata(table, lambda m: m["refs"].update({"audit": {"snapshot-id": 77, "type": "tag"}}))

    diagnosis = look()

    assert the(diagnosis, "ref_to_unknown_snapshot").evidence == ("tag audit: snapshot 77",)
    assert local(diagnosis.recovery.recommended).name.startswith("00000-")


def test_a_current_snapshot_that_is_not_kept(lake, table, put, look):
    lake.commit(table, Manifest([put("a")]))
    edit_metadata(table, lambda m: m.update({"current-snapshot-id": 77}))

    assert {"ref_to_unknown_snapshot", "main_is_not_current"} <= codes(look())


def test_sequence_numbers_that_go_backwards(lake, table, put, look):
    lake.commit(table, Manifest([put("a")]))
    lake.commit(table, Manifest([put("b")]))
    edit_metadata(table, lambda m: m["snapshots"][0].update({"sequence-number": 5}))

    found = the(look(), "sequence_numbers_out_of_order").evidence

    assert found == (
        "snapshot 1 has sequence number 5, and the table's last is 2",
        "snapshot 2 has sequence number 2, its parent 5",
    )


def test_a_parent_that_is_gone_is_information(lake, table, put, look):
    lake.commit(table, Manifest([put("a")]))
    lake.commit(table, Manifest([put("b")]))
    edit_metadata(table, lambda m: m.update({"snapshots": m["snapshots"][1:]}))

    diagnosis = look()

    assert codes(diagnosis) == {"parent_gone"}
    assert diagnosis.is_sound


def test_files_that_were_rewritten_keep_their_number_and_are_sound(lake, table, put, look):
    lake.commit(table, Manifest([put("a")]))
    kept = replace(put("a"), status=EXISTING, snapshot_id=1, sequence_number=1)
    lake.commit(table, Manifest([kept, put("b")]), keeps=False, operation="overwrite")

    assert look().findings == ()

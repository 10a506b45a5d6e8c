"""Files that are not in storage as manifests say."""

from __future__ import annotations

import pytest
from tests.edges.diagnosis.damage import codes, edit_metadata, local, the

from neve.model.diagnosis import Severity
from neve.planning.diagnosis import storage
from neve.testing.local_lake import FileEntry, Manifest

pytestmark = pytest.mark.promise(35, 36)


def test_a_missing_data_file_comes_with_the_newest_whole_snapshot(lake, table, put, look):
    first = lake.commit(table, Manifest([put("a")]))
    lost = put("b")
    lake.commit(table, Manifest([lost]))
    local(lost.path).unlink()

    finding = the(look(), "data_file_missing")

    assert (finding.severity, finding.count) == (Severity.ERROR, 1)
    assert finding.evidence == (f"data file {lost.path}",)
    assert finding.next_step.endswith(f"neve rollback lake.db.events --to-snapshot {first}")


def test_a_file_that_only_an_old_snapshot_needs_is_a_warning(lake, table, put, look):
    old = put("a")
    lake.commit(table, Manifest([old]))
    lake.commit(table, Manifest([put("b")]), keeps=False, operation="overwrite")
    local(old.path).unlink()

    diagnosis = look()

    assert codes(diagnosis) == {"old_file_missing"}
    assert diagnosis.is_sound


def test_a_missing_delete_file_and_a_missing_puffin_file(lake, create, put, look):
    table = create(format_version=3)
    data = put("a")
    lake.commit(table, Manifest([data]))
    at = {"referenced_data_file": data.path, "content_offset": 4, "content_size_in_bytes": 6}
    vector = put("v.puffin", content=1, format="PUFFIN", fields=at)
    lake.commit(table, Manifest([vector]))
    assert look().findings == ()

    local(vector.path).unlink()

    finding = the(look(), "delete_file_missing")
    assert finding.evidence == (f"deletion vector {vector.path}",)


def test_another_size_in_storage(lake, table, put, look):
    file = put("a")
    lake.commit(table, Manifest([file]))
    local(file.path).write_bytes(bytes(7))

    finding = the(look(), "size_differs")

    assert finding.evidence == (f"{file.path}: 7 bytes in storage, 10 in the manifest",)


def test_a_folder_or_an_unknown_scheme_in_place_of_a_file(lake, table, put, look):
    file = put("a")
    lake.commit(table, Manifest([file, FileEntry("gopher://b", ("mon",))]))
    local(file.path).unlink()
    local(file.path).mkdir()

    diagnosis = look()

    assert the(diagnosis, "storage_unanswered").count == 2
    assert not diagnosis.is_sound


def test_statistics_that_are_registered_and_missing(lake, table, put, look):
    lake.commit(table, Manifest([put("a")]))
    file = put("stats")

    def register(document):
        entry = {
            "snapshot-id": 1,
            "statistics-path": file.path,
            "file-size-in-bytes": 10,
            "file-footer-size-in-bytes": 5,
            "blob-metadata": [],
        }
        document["statistics"] = [entry]

    edit_metadata(table, register)
    assert look().findings == ()

    local(file.path).unlink()

    assert codes(look()) == {"statistics_missing"}


def test_large_tables_are_looked_at_in_part_and_it_is_said(lake, table, put, look, monkeypatch):
    monkeypatch.setattr("neve.service.diagnose.MAX_LOOKED_UP", 4)
    lake.commit(table, Manifest([put(f"f{i}") for i in range(10)]))

    assert look().coverage.not_checked[1] == (
        "6 of 10 files were not looked up: --deep looks at all of them, on Spark."
    )
    assert look(sample=3).coverage.files_in_storage == 3
    assert [storage.chosen(range(10), 4)] == [[0, 2, 5, 7]]

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from neve.testing.local_lake import FileEntry, Manifest

pytestmark = [pytest.mark.promise(33), pytest.mark.usefixtures("no_engine")]


@pytest.fixture
def whole(lake, events):
    """A table whose files are in storage; its first snapshot's are not, and it is gone."""
    path = lake.folder / "a.parquet"
    path.write_bytes(bytes(10))
    table = lake.create("db.whole", events.schema())
    lake.commit(table, Manifest([FileEntry(path.as_uri(), size_bytes=10)]))
    return table


def digest(folder):
    files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    return hashlib.sha256(b"".join(str(p).encode() + p.read_bytes() for p in files)).hexdigest()


def test_a_sound_table(run_json, whole):
    found, code = run_json("doctor", "lake.db.whole")

    assert code == 0
    assert (found["is_sound"], found["findings"], found["recovery"]) == (True, [], None)
    assert found["table"] == "lake.db.whole"
    assert found["coverage"]["files_in_storage"] == 1


def test_an_unsound_table_is_exit_code_1_and_says_what_to_do(run, run_json, events):
    found, code = run_json("doctor", "db.events")
    text = run("doctor", "db.events").stdout

    assert code == 1
    assert [finding["code"] for finding in found["findings"]] == ["data_file_missing"]
    assert found["findings"][0]["count"] == 6
    assert "✘ Data files are missing from storage, so reading them fails. (6)" in text
    assert "→ Bring the files back" in text
    assert "not checked: No data file was opened: --deep does." in text


def test_the_way_back_is_shown(run, lake, events):
    before = events.metadata.metadata_log[-1].metadata_file
    Path(urlsplit(events.metadata_location).path).write_text('{"cut')

    result = run("doctor", "db.events")

    assert result.exit_code == 1
    text = result.stdout.replace("\n", "")
    assert f"metadata_file => '{before}')" in text
    assert "catalog.register_table(('db', 'events_recovered')" in text


def test_it_writes_nothing(run, events, whole, lake):
    before = digest(lake.folder.parent)

    run("doctor", "db.events")
    run("doctor", "db.whole")
    Path(urlsplit(events.metadata_location).path).unlink()
    broken = digest(lake.folder.parent)
    run("doctor", "db.events")

    assert digest(lake.folder.parent) == broken != before


@pytest.mark.parametrize("option", [["--deep"], ["--sample", "3"], ["--metadata-folder", "x"]])
def test_options_of_a_table_need_a_table(run_json, option):
    found, code = run_json("doctor", *option)

    assert code == 1
    assert found["error"]["type"] == "InputError"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["lake.db.nothing"], "TableNotFound"),
        (["no table"], "InputError"),
        (["db.events", "--sample", "0"], "InputError"),
    ],
)
def test_bad_input_is_explained(run_json, events, words, kind):
    found, code = run_json("doctor", *words)

    assert (code, found["error"]["type"]) == (1, kind)


def test_another_folder_of_metadata_may_be_named(run_json, events, tmp_path):
    Path(urlsplit(events.metadata_location).path).unlink()
    empty = tmp_path / "elsewhere"
    empty.mkdir()

    found, code = run_json("doctor", "db.events", "--metadata-folder", str(empty))

    assert (code, found["recovery"]["candidates"]) == (1, [])

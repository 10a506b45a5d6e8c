from __future__ import annotations

from datetime import timedelta

import pytest

from neve.app import utc_now


def test_without_options_orphans_are_listed_and_nothing_is_changed(stored, run, run_json):
    report, code = run_json("orphans", "db.events")
    assert (code, [orphan["path"] for orphan in report["orphans"]]) == (0, [stored.orphan])
    assert report["found"] == {"files": 1, "size_bytes": 10}
    assert report["kept"]["reachable"]["files"] == 9
    text = run("orphans", "db.events").stdout
    assert "1 orphan, 10 B, of 10 files" in text
    assert "reachable from the table's metadata" in text
    assert run_json("orphans", "db.events", "--list") == ([], 0)


def test_the_way_from_quarantine_to_restore(stored, run, run_json):
    first, _ = run_json("orphans", "db.events", "--quarantine")
    assert "first sweep" in first["reason"]
    outcome, code = run_json("orphans", "db.events", "--quarantine")
    assert (code, outcome["figures_after"]["quarantined_files"]) == (0, 1)
    entries, _ = run_json("orphans", "db.events", "--list")
    assert [entry["orphan"]["path"] for entry in entries] == [stored.orphan]
    assert "quarantined" in run("orphans", "db.events", "--list").stdout
    purged, _ = run_json("orphans", "db.events", "--purge")
    assert (purged["status"], stored.deleted_paths) == ("nothing_to_do", [])
    restored, _ = run_json("orphans", "db.events", stored.orphan, "--restore")
    assert len(restored) == 1
    assert "quarantine is empty" in run("orphans", "db.events", "--list").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--older-than", "1h"), "24 hours"),
        (("--older-than", "soon"), "cannot be used as a duration"),
        (("--purge", "--quarantine"), "One thing at a time"),
        (("s3://b/x",), "for --restore only"),
        (("s3://b/x", "--restore"), "not in the quarantine"),
    ],
)
def test_what_cannot_be_meant_is_refused(stored, run_json, words, sentence):
    document, code = run_json("orphans", "db.events", *words)
    assert code == 1
    assert sentence in document["error"]["message"]


def test_too_many_orphans_are_refused_unless_the_limit_is_raised(stored, run_json):
    for number in range(9):
        stored.put(f"data/more{number}", at=utc_now() - timedelta(days=9))
    report, _ = run_json("orphans", "db.events")
    assert "10 of 19 files" in report["stop"]
    refused, code = run_json("orphans", "db.events", "--quarantine")
    assert (code, refused["error"]["type"]) == (1, "JobRefused")
    _, code = run_json("orphans", "db.events", "--quarantine", "--max-orphan-ratio", "0.6")
    assert code == 0

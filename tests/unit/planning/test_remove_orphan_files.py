from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from neve.model.job import Job, JobState
from neve.model.orphans import (
    FileTotals,
    KeptReason,
    ListedFile,
    Listing,
    Orphan,
    OrphanRules,
    QuarantineEntry,
    QuarantineState,
    ReachableFiles,
    Sweep,
    TableLocation,
)
from neve.model.table import TableRef
from neve.planning.operations import remove_orphan_files as guards
from neve.testing.facts import NOW, TABLE

pytestmark = pytest.mark.promise(22)

HOUR_MS = 3_600_000
NOW_MS = 1_000_000 * HOUR_MS
OTHER = TableRef("lake", ("db",), "other")
UUID = "11111111-1111-1111-1111-111111111111"
LISTING = Listing(
    roots=("s3://b/t",),
    foreign=("s3://b/t/inner",),
    partition_fields=frozenset({"_day", "k"}),
    cutoff_ms=NOW_MS - 72 * HOUR_MS,
    now_ms=NOW_MS,
)


def location_of(location="s3://b/t", table=TABLE, **properties):
    named = {key.replace("__", "-").replace("_", "."): value for key, value in properties.items()}
    return TableLocation(table, UUID, location, named, frozenset())


def listed(path="data/f.parquet", hours=100, **changes):
    return replace(ListedFile(f"s3://b/t/{path}", 10, NOW_MS - hours * HOUR_MS), **changes)


def swept(orphans=0, reached=100, orphan_bytes=0, total_bytes=0, **changes):
    found = ReachableFiles(
        TABLE, UUID, "s3://b/t", "s3://b/t/m.json", {}, frozenset(), frozenset(), frozenset("a")
    )
    values = {
        "reachable": found,
        "listed": FileTotals(orphans + reached, total_bytes),
        "orphans": FileTotals(orphans, orphan_bytes),
        "kept": {KeptReason.REACHABLE: FileTotals(reached, 0)},
        "candidates": (),
        "watched": {},
    }
    return Sweep(**{**values, **changes})


def test_an_old_file_of_a_plain_name_is_kept_by_nothing():
    assert guards.why_kept(listed(), LISTING) is None
    assert guards.why_kept(listed("data/a%20b+c=d/é.parquet"), LISTING) is None


@pytest.mark.conformance("young files are kept")
@pytest.mark.parametrize("hours", [0, 1, 71.9, 72])
def test_a_young_file_is_kept(hours):
    assert guards.why_kept(listed(hours=hours), LISTING) is KeptReason.TOO_YOUNG


@pytest.mark.parametrize("modified_ms", [None, 0, -1, 14 * 3_600_000, NOW_MS + 1])
def test_a_file_without_a_usable_time_is_kept(modified_ms):
    assert guards.why_kept(listed(modified_ms=modified_ms), LISTING) is KeptReason.UNKNOWN_TIME


def test_a_link_is_kept():
    assert guards.why_kept(listed(is_regular=False), LISTING) is KeptReason.NOT_A_FILE


@pytest.mark.conformance("hidden folders and partition folders")
@pytest.mark.parametrize("path", ["_SUCCESS", "data/.f.crc", "_tmp/f", "data/_other=1/f", "_day/f"])
def test_a_hidden_file_is_kept(path):
    assert guards.why_kept(listed(path), LISTING) is KeptReason.HIDDEN


@pytest.mark.conformance("hidden folders and partition folders")
def test_the_folder_of_a_partition_field_is_not_hidden():
    assert guards.why_kept(listed("data/_day=2/f.parquet"), LISTING) is None


def test_a_file_of_a_table_inside_is_kept_and_one_beside_it_is_not():
    assert guards.why_kept(listed("inner/data/f"), LISTING) is KeptReason.OTHER_TABLE
    assert guards.why_kept(listed("inner2/data/f"), LISTING) is None


@pytest.mark.parametrize(
    "path", ["data//f", "data/./f", "data/../f", "f?x", "f#x", "f\n", "f\u200b", "f\udc80", "dir/"]
)
def test_a_name_that_could_be_anothers_is_kept(path):
    assert guards.why_kept(listed(path), LISTING) is KeptReason.AMBIGUOUS


def test_no_setting_goes_below_24_hours():
    limit, why = guards.cutoff(NOW, OrphanRules(older_than_seconds=0), [])
    assert (limit, why) == (NOW - timedelta(hours=24), "older than 1d")


def test_files_since_the_start_of_an_unfinished_job_are_too_young():
    began = NOW - timedelta(days=9)
    job = Job("j1", TABLE, "rewrite_data_files", JobState.UNKNOWN, 1, began, began)
    limit, why = guards.cutoff(NOW, OrphanRules(), [replace(job, created_at=NOW), job])
    assert limit == began
    assert "j1" in why


@pytest.mark.conformance("garbage collection is off")
def test_a_table_whose_garbage_is_not_collected_is_refused():
    assert "gc.enabled=FALSE" in guards.gc_refusal(location_of(gc_enabled="FALSE"))
    assert "gc.enabled=no" in guards.gc_refusal(location_of(gc_enabled="no"))
    assert guards.gc_refusal(location_of(gc_enabled="true")) is None
    assert guards.gc_refusal(location_of()) is None


@pytest.mark.parametrize("theirs", ["s3://b/t", "s3a://b/t/", "s3://b//t", "s3://b", "s3://b/%74"])
def test_a_location_that_is_also_another_tables_is_refused(theirs):
    ours = location_of()
    assert "db.other" in guards.overlap_refusal(ours, [ours.location], [location_of(theirs, OTHER)])


def test_a_folder_for_data_of_another_table_counts_as_its_location():
    ours, other = location_of(), location_of("s3://b/o", OTHER, write_data_path="s3://b/t")
    assert guards.overlap_refusal(ours, [ours.location], [other]) is not None


def test_a_table_inside_is_no_refusal_but_its_files_are_foreign():
    ours = location_of()
    inside = location_of("s3://b/o", OTHER, write_data_path="s3://b/t/data/o")
    beside = location_of("s3://b/t2", OTHER)
    assert guards.overlap_refusal(ours, [ours.location], [inside, beside]) is None
    assert guards.foreign_locations([ours.location], [inside, beside]) == ("s3://b/t/data/o",)


def test_a_location_behind_a_link_counts_by_its_real_folder():
    ours = location_of()
    around = replace(location_of("file:/link", OTHER), aliases=("s3://b",))
    inside = replace(location_of("file:/link", OTHER), aliases=("s3://b/t/data/o",))
    assert "db.other" in guards.overlap_refusal(ours, [ours.location], [around])
    assert guards.overlap_refusal(ours, [ours.location], [inside]) is None
    assert guards.foreign_locations([ours.location], [inside]) == ("s3://b/t/data/o",)


def test_a_folder_elsewhere_is_listed_only_if_it_is_named_after_the_table():
    shared = location_of(write_data_path="s3://b/shared", write_metadata_path="s3://b/t/m")
    assert guards.roots_of(shared) == (("s3://b/t",), ("s3://b/shared",))
    own = f"s3://b/x/{UUID}"
    assert guards.roots_of(location_of(write_object__storage_path=own)) == (("s3://b/t", own), ())


def test_a_listing_of_which_nothing_is_reachable_is_refused():
    assert guards.nothing_reached_refusal(swept(orphans=5, reached=0)) is not None
    nothing = replace(swept().reachable, paths=frozenset())
    assert guards.nothing_reached_refusal(swept(reachable=nothing, kept={})) is not None
    assert guards.nothing_reached_refusal(swept(orphans=5)) is None


def test_a_path_that_is_reachable_in_another_bucket_is_refused():
    assert "s3://b/t/x" in guards.elsewhere_refusal(swept(elsewhere=("s3://b/t/x",)))
    assert guards.elsewhere_refusal(swept()) is None


def test_a_table_that_was_replaced_meanwhile_is_refused():
    assert guards.changed_place_refusal(location_of(), swept()) is None
    assert guards.changed_place_refusal(location_of("s3://b/moved"), swept()) is not None


def test_too_many_orphans_are_refused_with_the_number():
    assert guards.ratio_refusal(swept(orphans=20, reached=80), 0.2) is None
    assert "25 of 100 files would be orphans, 25.0%" in guards.ratio_refusal(
        swept(orphans=25, reached=75), 0.2
    )
    assert "90 of 100 bytes" in guards.ratio_refusal(
        swept(orphans=1, orphan_bytes=90, total_bytes=100), 0.2
    )


def test_a_leftover_names_the_job_that_wrote_it():
    file = listed("data/f")
    assert guards.as_orphan(file, {"/t/data/f": "j7"}).reason == (
        "written by job j7 and not committed"
    )
    assert guards.as_orphan(file, {}).reason == guards.NOT_REACHED


@pytest.mark.parametrize(
    ("ending", "is_told"),
    [
        (".0123456789abcdef.tmp", True),
        ("", True),
        (".tmp", False),
        (".0123456789abcdef", False),
        (".0123456789abcdeg.tmp", False),
        (".0123456789abcdef.tmp.parquet", False),
    ],
)
def test_a_draft_is_told_with_the_job_of_its_file(ending, is_told):
    file = listed(f"data/f.parquet{ending}")
    reason = guards.as_orphan(file, {"/t/data/f.parquet": "j7"}).reason

    assert ("j7" in reason) is is_told


def test_an_entry_is_released_where_it_is_gone_reachable_or_changed():
    file = listed(etag="e1")
    orphan = guards.as_orphan(file, {})
    entry = QuarantineEntry(1, TABLE, UUID, orphan, "j", NOW, QuarantineState.QUARANTINED, NOW)
    assert guards.why_released(entry, file, None) is None
    assert guards.why_released(entry, file, KeptReason.TOO_YOUNG) is None
    assert guards.why_released(entry, None, None) == "It is no longer there."
    assert guards.why_released(entry, file, KeptReason.REACHABLE) == "It is reachable now."
    for change in ({"size_bytes": 11}, {"modified_ms": file.modified_ms + 1}, {"etag": "e2"}):
        changed = replace(file, **change)
        assert guards.why_released(entry, changed, None) == "It has changed since it was marked."


def test_an_orphan_keeps_its_time_to_the_millisecond():
    orphan = guards.as_orphan(listed(modified_ms=1_700_000_000_123), {})
    assert isinstance(orphan, Orphan)
    assert orphan.modified_at.microsecond == 123_000

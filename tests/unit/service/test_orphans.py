from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from neve.model.errors import CatalogError, InputError, JobRefused, LeaseLost, TableBusy
from neve.model.job import JobState
from neve.model.orphans import (
    KeptReason,
    MetadataOwner,
    OrphanRules,
    QuarantineState,
    TableLocation,
)
from neve.model.outcome import Status
from neve.planning.operations.intent import PATH_TWIN_NEXT_STEP
from neve.service.auditing import AuditTrail, Evidence
from neve.service.operations.remove_orphan_files import find_orphans, quarantined
from neve.testing.facts import NOW, TABLE, table_facts
from neve.testing.operations import change_orphans, restore_orphans, sweep_orphans
from neve.testing.orphans import StoredLake

pytestmark = pytest.mark.promise(20, 21, 24)

RULES = OrphanRules(purge_delay_seconds=86400)
DAY = 86400


@pytest.fixture
def lake():
    """Nine files that the table reaches, and one orphan."""
    made = StoredLake(table_facts())
    for number in range(9):
        made.put(f"data/f{number}", is_reached=True)
    made.orphan = made.put("data/orphan")
    return made


def entries(services, *states):
    found = services.store.quarantine.entries(table_facts().table_uuid, states or QuarantineState)
    return [(entry.orphan.path, entry.state, entry.state_reason) for entry in found]


@pytest.mark.conformance("a dry run")
def test_a_dry_run_changes_nothing(services, lake):
    report = find_orphans(services, TABLE, RULES)
    assert [orphan.path for orphan in report.orphans] == [lake.orphan]
    assert (report.found.files, report.listed.files) == (1, 10)
    assert entries(services) == lake.deleted_paths == services.store.jobs() == []


def test_the_first_run_only_looks_and_says_so(services, lake):
    outcome = change_orphans(services, TABLE, RULES, quarantine=True)
    assert outcome.status is Status.NOTHING_TO_DO
    assert outcome.reason.startswith("The first sweep of a table only looks")
    assert entries(services) == []


def test_quarantine_lists_orphans_and_touches_no_file(services, lake):
    find_orphans(services, TABLE, RULES)
    outcome = change_orphans(services, TABLE, RULES, quarantine=True)
    assert (outcome.status, outcome.operation) == (Status.SUCCEEDED, "remove_orphan_files")
    assert outcome.figures_after["quarantined_files"] == 1
    assert lake.log == [outcome]
    assert [entry.orphan.path for entry in quarantined(services, TABLE)] == [lake.orphan]
    assert lake.deleted_paths == []


def test_a_sweep_deletes_only_after_the_delay_and_then_rests(services, lake, clock):
    find_orphans(services, TABLE, RULES)
    sweep_orphans(services, TABLE, RULES)
    clock.advance(DAY - 1)
    assert sweep_orphans(services, TABLE, RULES).status is Status.NOTHING_TO_DO
    clock.advance(1)
    outcome = sweep_orphans(services, TABLE, RULES)
    assert outcome.figures_after["purged_files"] == 1
    assert lake.deleted_paths == [lake.orphan]
    assert [state for _, state, _ in entries(services)] == [QuarantineState.PURGED]
    assert sweep_orphans(services, TABLE, RULES).status is Status.NOTHING_TO_DO
    assert lake.deleted_paths == [lake.orphan]


@pytest.fixture
def due(services, lake, clock):
    """The orphan has been in quarantine for long enough."""
    find_orphans(services, TABLE, RULES)
    sweep_orphans(services, TABLE, RULES)
    clock.advance(DAY)
    return lake.orphan


def test_what_only_one_computation_misses_is_kept(services, lake):
    lake.reached_by_engine.add(lake.orphan)
    report = find_orphans(services, TABLE, RULES)
    assert report.orphans == ()
    assert report.kept[KeptReason.REACHABLE_IN_ENGINE].files == 1


@pytest.mark.parametrize("view", ["reached", "reached_by_engine"])
def test_an_entry_that_is_reachable_now_leaves_the_list(services, lake, due, view):
    getattr(lake, view).add(due)
    outcome = change_orphans(services, TABLE, RULES, purge=True)
    assert outcome.figures_after["released_files"] == 1
    assert entries(services) == [(due, QuarantineState.RELEASED, "It is reachable now.")]
    assert lake.deleted_paths == []


def test_what_another_table_reaches_is_kept_and_the_report_names_it(services, lake):
    other = TABLE.sibling("landing")
    lake.reached_elsewhere[lake.orphan] = other
    report = find_orphans(services, TABLE, RULES)
    assert (report.orphans, report.found.files) == ((), 0)
    assert report.kept[KeptReason.REFERENCED].files == 1
    assert report.referenced_by == (other,)
    sweep_orphans(services, TABLE, RULES)
    assert entries(services) == []


def test_an_entry_that_another_table_reaches_now_leaves_the_list(services, lake, due):
    lake.reached_elsewhere[due] = TABLE.sibling("landing")
    change_orphans(services, TABLE, RULES, purge=True)
    assert entries(services) == [(due, QuarantineState.RELEASED, "Another table reaches it.")]
    assert lake.deleted_paths == []


def test_other_tables_are_asked_anew_right_before_a_file_is_deleted(services, lake, due):
    needed = lake.needed

    def reach_late(table, paths, reached=(), *, recheck=False):
        return dict.fromkeys(paths, TABLE.sibling("late")) if recheck else needed(table, paths)

    lake.needed = reach_late
    change_orphans(services, TABLE, RULES, purge=True)
    assert lake.deleted_paths == []
    assert [state for _, state, _ in entries(services)] == [QuarantineState.RELEASED]


def test_what_the_table_reaches_by_another_name_is_kept(services, lake):
    lake.needed = lambda table, paths, reached=(), *, recheck=False: dict.fromkeys(paths, TABLE)
    report = find_orphans(services, TABLE, RULES)
    assert report.orphans == ()
    assert report.kept[KeptReason.REACHABLE].files == 10
    assert report.referenced_by == ()


def test_an_entry_that_changed_leaves_the_list(services, lake, due):
    lake.files[due] = replace(lake.files[due], size_bytes=11)
    change_orphans(services, TABLE, RULES, purge=True)
    assert entries(services) == [
        (due, QuarantineState.RELEASED, "It has changed since it was marked.")
    ]
    assert lake.deleted_paths == []


def test_an_entry_that_is_gone_leaves_the_list(services, lake, due):
    del lake.files[due]
    change_orphans(services, TABLE, RULES, purge=True)
    assert entries(services) == [(due, QuarantineState.RELEASED, "It is no longer there.")]


def test_an_entry_that_a_guard_keeps_now_stays_and_waits(services, lake, due):
    old = OrphanRules(older_than_seconds=365 * DAY, purge_delay_seconds=DAY)
    change_orphans(services, TABLE, old, purge=True)
    assert entries(services) == [(due, QuarantineState.QUARANTINED, "")]


def test_what_could_not_be_deleted_stays_on_the_list_and_is_said(services, lake, due):
    lake.stubborn.add(due)
    outcome = change_orphans(services, TABLE, RULES, purge=True)
    assert outcome.status is Status.FAILED
    assert "1 could not be deleted" in outcome.reason
    assert entries(services) == [(due, QuarantineState.PURGING, "")]
    lake.stubborn.clear()
    assert change_orphans(services, TABLE, RULES, purge=True).status is Status.SUCCEEDED


def test_a_crash_after_deleting_is_settled_by_the_next_sweep(services, lake, due):
    def crash():
        lake.files.pop(due)
        raise KeyboardInterrupt

    lake.before_delete = crash
    with pytest.raises(KeyboardInterrupt):
        change_orphans(services, TABLE, RULES, purge=True)
    change_orphans(services, TABLE, RULES, purge=True)
    assert [state for _, state, _ in entries(services)] == [QuarantineState.PURGED]


def test_a_restored_file_is_safe_from_then_on(services, lake, due):
    restore_orphans(services, TABLE, [due])
    outcome = sweep_orphans(services, TABLE, RULES)
    assert outcome.status is Status.NOTHING_TO_DO
    assert find_orphans(services, TABLE, RULES).kept[KeptReason.RESTORED].files == 1
    assert lake.deleted_paths == []


@pytest.mark.promise(23)
@pytest.mark.parametrize(
    "change",
    [
        lambda file: replace(file, size_bytes=11),
        lambda file: replace(file, modified_ms=file.modified_ms + 1),
        lambda file: replace(file, etag="other"),
        lambda file: replace(file, path=file.path.replace("file:///", "file:/")),
        lambda file: replace(file, path=file.path.replace("file:", "FILE:")),
    ],
)
def test_a_restored_file_is_safe_whatever_becomes_of_it(services, lake, due, change):
    restore_orphans(services, TABLE, [due])
    changed = change(lake.files.pop(due))
    lake.files[changed.path] = changed
    assert sweep_orphans(services, TABLE, RULES).status is Status.NOTHING_TO_DO
    assert find_orphans(services, TABLE, RULES).kept[KeptReason.RESTORED].files == 1


def test_only_what_is_in_quarantine_can_be_restored(services, lake, due):
    with pytest.raises(InputError, match="not in the quarantine"):
        restore_orphans(services, TABLE, ["s3://b/x"])
    assert [entry.orphan.path for entry in restore_orphans(services, TABLE, [])] == [due]


def test_nothing_is_done_while_another_job_holds_the_table(services, lake, due):
    services.store.claim("other", TABLE, "rewrite_data_files", 60)
    for do in (sweep_orphans, lambda *_: restore_orphans(services, TABLE, [])):
        with pytest.raises(TableBusy):
            do(services, TABLE, RULES)
    assert lake.deleted_paths == []


def test_files_since_the_start_of_a_running_job_are_kept(services, lake, clock):
    clock.now = NOW - timedelta(days=10)
    services.store.claim("long", TABLE, "rewrite_data_files", 11 * 86400)
    clock.now = NOW
    report = find_orphans(services, TABLE, RULES)
    assert report.orphans == ()
    assert "job long" in report.cutoff_reason


def test_a_lost_job_is_settled_and_holds_nothing_back(services, lake, clock):
    clock.now = NOW - timedelta(days=10)
    services.store.release(services.store.claim("lost", TABLE, "rewrite_data_files", 60))
    clock.now = NOW
    report = find_orphans(services, TABLE, RULES)
    assert len(report.orphans) == 1
    assert services.store.job("lost").state is JobState.FAILED


def test_a_lost_lease_ends_the_run_before_anything_is_deleted(services, lake, due, clock):
    look_up = lake.look_up

    def take_long(table, paths):
        clock.advance(3600)
        return look_up(table, paths)

    lake.look_up = take_long
    with pytest.raises(LeaseLost):
        change_orphans(services, TABLE, RULES, purge=True)
    assert lake.deleted_paths == []


def test_too_many_orphans_stop_a_sweep_but_not_the_dry_run(services, lake):
    for number in range(9):
        lake.put(f"data/more{number}")
    assert "52.6%" in find_orphans(services, TABLE, RULES).stop
    with pytest.raises(JobRefused, match=r"10 of 19 files would be orphans, 52\.6%"):
        sweep_orphans(services, TABLE, RULES)
    assert entries(services) == []
    assert services.store.jobs()[0].state is JobState.FAILED


def test_a_leftover_is_shown_with_its_job(services, lake):
    services.store.add_uncommitted_files("j7", TABLE, [lake.orphan])
    (orphan,) = find_orphans(services, TABLE, RULES).orphans
    assert orphan.reason == "written by job j7 and not committed"


def test_shared_locations_and_gc_enabled_false_are_refused(services, lake):
    other = TableLocation(TABLE.sibling("other"), "u2", lake.facts.location, {}, frozenset())
    lake.other_homes.append(other)
    with pytest.raises(JobRefused, match=r"lake\.db\.other"):
        find_orphans(services, TABLE, RULES)
    lake.other_homes.clear()
    lake.properties["gc.enabled"] = "false"
    with pytest.raises(JobRefused, match=r"gc\.enabled"):
        find_orphans(services, TABLE, RULES)


def test_a_table_by_path_in_the_same_folder_is_refused_before_anything_is_listed(services, lake):
    lake.twin_by_path = "file:///lake/metadata/v7.metadata.json"
    for do in (find_orphans, sweep_orphans):
        with pytest.raises(
            JobRefused, match=r"version-hint\.text leads to .*v7\.metadata\.json"
        ) as e:
            do(services, TABLE, RULES)
        assert e.value.next_step == PATH_TWIN_NEXT_STEP
    assert entries(services) == []


@pytest.mark.parametrize("key", ["nessie.commit.id", "nessie.catalog.content-id"])
def test_files_that_branches_of_nessie_may_need_are_not_swept(services, lake, key):
    lake.properties |= {key: "6c12", "gc.enabled": "true"}

    with pytest.raises(JobRefused, match="other branches and older commits"):
        find_orphans(services, TABLE, RULES)


def test_a_table_elsewhere_that_cannot_be_loaded_stops_the_sweep(services, lake, due):
    def fail():
        raise CatalogError("Catalog prod cannot be reached.")

    lake.locations = fail
    with pytest.raises(CatalogError):
        sweep_orphans(services, TABLE, RULES)
    assert lake.deleted_paths == []


def test_a_table_that_was_made_anew_has_a_quarantine_of_its_own(services, lake, due):
    lake.facts = replace(lake.facts, table_uuid="22222222-2222-2222-2222-222222222222")
    assert quarantined(services, TABLE) == []
    assert "first sweep" in sweep_orphans(services, TABLE, RULES).reason
    assert lake.deleted_paths == []


@pytest.mark.promise(57)
def test_the_audit_log_has_a_digest_of_what_was_deleted(services, store, lake, due):
    audited = replace(services, auditor=AuditTrail(store.audit).record)
    change_orphans(audited, TABLE, RULES, purge=True)
    told = Evidence()
    told.files([due])
    assert store.audit.newest(limit=1)[0].entry.files_digest == told.files_digest


def old_metadata(lake, kind, uuid):
    path = lake.put("metadata/00000-old.metadata.json")
    lake.owners = [MetadataOwner(path, kind, uuid)]
    return path


@pytest.mark.promise(22)
@pytest.mark.parametrize("kind", ["table", "view"])
def test_metadata_of_another_table_in_the_same_folder_stops_the_sweep(services, lake, kind):
    path = old_metadata(lake, kind, "7d3f")
    for do in (find_orphans, sweep_orphans):
        with pytest.raises(JobRefused, match=f" is metadata of the {kind} 7d3f, and") as refused:
            do(services, TABLE, RULES)
        assert path in refused.value.message
        assert "Register it in a catalog" in refused.value.next_step
    assert entries(services) == lake.deleted_paths == []


@pytest.mark.promise(22)
def test_it_is_told_of_how_many_files_the_other_table_is(services, lake):
    paths = [lake.put(f"metadata/{number}.metadata.json") for number in range(3)]
    lake.owners = [MetadataOwner(path, "table", "7d3f") for path in paths]

    with pytest.raises(JobRefused, match=r"0\.metadata\.json and 2 more files are metadata of"):
        find_orphans(services, TABLE, RULES)


@pytest.mark.promise(22)
def test_old_metadata_of_the_table_itself_is_an_orphan_like_others(services, lake):
    path = old_metadata(lake, "table", table_facts().table_uuid.upper())

    report = find_orphans(services, TABLE, RULES)

    assert {orphan.path for orphan in report.orphans} == {lake.orphan, path}


@pytest.mark.promise(22)
def test_files_that_the_configuration_names_are_kept(services, lake):
    lake.configured = {lake.orphan}

    report = find_orphans(services, TABLE, RULES)

    assert (report.orphans, report.kept[KeptReason.NOT_OF_TABLES].files) == ((), 1)


@pytest.mark.promise(22)
@pytest.mark.parametrize("is_late", [False, True])
def test_what_the_configuration_names_by_now_leaves_the_quarantine(
    services, lake, clock, monkeypatch, is_late
):
    find_orphans(services, TABLE, RULES)
    change_orphans(services, TABLE, RULES, quarantine=True)
    clock.advance(DAY)
    if is_late:
        # Between the look at the candidates and the deletion.
        answers = iter([set()])
        monkeypatch.setattr(lake, "not_of_tables", lambda *_: next(answers, {lake.orphan}))
    lake.configured = {lake.orphan}

    outcome = change_orphans(services, TABLE, RULES, purge=True)

    assert (lake.deleted_paths, outcome.figures_after["released_files"]) == ([], 1)
    ((_, state, reason),) = entries(services)
    assert (state, "a database" in reason) == (QuarantineState.RELEASED, True)

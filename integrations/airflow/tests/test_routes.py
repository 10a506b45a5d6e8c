from __future__ import annotations

import pytest
from neve_provider import routes

ASKING = {"requested_by": "", "priority": 0, "tenant": ""}


@pytest.mark.parametrize(
    ("words", "path", "body"),
    [
        (
            {"operation": "rewrite_data_files"},
            "/maintain",
            {"operations": ["rewrite_data_files"], "dry_run": False, "overrides": {}},
        ),
        (
            {
                "operation": "rewrite_data_files",
                "where": "day = DATE '2025-01-16'",
                "options": {"target-file-size-bytes": "128MB"},
                "overrides": {"budget.max_cost_usd": 2},
            },
            "/maintain",
            {
                "operations": ["rewrite_data_files"],
                "dry_run": False,
                "overrides": {
                    "rewrite_data_files.options.target-file-size-bytes": "128MB",
                    "rewrite_data_files.where": "day = DATE '2025-01-16'",
                    "budget.max_cost_usd": 2,
                },
            },
        ),
        (
            {"operation": None, "dry_run": True},
            "/maintain",
            {"operations": [], "dry_run": True, "overrides": {}},
        ),
        (
            {"operation": "expire_snapshots", "options": {"older_than": "7d"}},
            "/expire",
            {"older_than": "7d", "apply": True},
        ),
        ({"operation": "expire_snapshots", "dry_run": True}, "/expire", {"apply": False}),
        ({"operation": "remove_orphan_files"}, "/orphans", {"action": "quarantine"}),
        (
            {"operation": "remove_orphan_files", "options": {"action": "purge"}},
            "/orphans",
            {"action": "purge"},
        ),
        (
            {"operation": "remove_orphan_files", "options": {"action": "purge"}, "dry_run": True},
            "/orphans",
            {"action": "look"},
        ),
    ],
)
def test_an_operation_is_asked_for_where_the_server_has_it(words, path, body):
    made = routes.maintenance("lake.db.t", **words)

    assert (made.method, made.path) == ("POST", f"/api/v1/tables/lake.db.t{path}")
    assert made.body == ASKING | body


@pytest.mark.parametrize(
    "words",
    [
        {"operation": "rewrite_manifests", "where": "a = 1"},
        {"operation": None, "where": "a = 1"},
        {"operation": None, "options": {"min-input-files": 2}},
        {"operation": "expire_snapshots", "overrides": {"guards.x": 1}},
    ],
)
def test_what_would_be_ignored_is_refused(words):
    with pytest.raises(ValueError, match=r"where|options|overrides"):
        routes.maintenance("t", **words)


def test_a_name_is_one_part_of_the_path():
    assert routes.health("lake.db.`a/b`").path == "/api/v1/tables/lake.db.%60a%2Fb%60/health"
    assert routes.job("../tables").path == "/api/v1/jobs/..%2Ftables"


@pytest.mark.parametrize(
    ("answer", "jobs"),
    [
        ({"jobs": [{"job_id": "a"}, {"job_id": "b"}], "plans": []}, ["a", "b"]),
        ({"job_id": "a", "status": "queued"}, ["a"]),
        ({"table": "t", "plan": None, "job": {"job_id": "a"}}, ["a"]),
        ({"table": "t", "plan": {}, "job": None}, []),
        ({"table": "t", "jobs": [], "skipped": "It is not due."}, []),
    ],
)
def test_jobs_are_found_in_every_kind_of_answer(answer, jobs):
    assert routes.queued(answer) == jobs


def test_another_key_is_the_same_question():
    first = routes.maintenance("t", "rewrite_data_files")

    assert first.with_key("a").fingerprint() == first.with_key("b").fingerprint()
    assert first.fingerprint() != routes.maintenance("u", "rewrite_data_files").fingerprint()
    assert first.fingerprint() != routes.maintenance("t", None).fingerprint()

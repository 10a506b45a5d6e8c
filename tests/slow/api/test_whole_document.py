"""Every operation of the OpenAPI document, with examples made from it, on a live server.

No answer is a defect, every answer is as documented, and what was refused has changed nothing.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.edges.api.conftest import served

from neve.api.app import create_app
from neve.model.workers import AnnouncedWorker, EngineReport, EngineState

pytestmark = pytest.mark.promise(46)

# As many as the profile of the tests asks for, but a request takes longer than a function.
EXAMPLES = min(settings().max_examples, 100) // 5
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def live(shared_neve):
    # Without a worker, the server is not ready, and says so with a status of its own.
    ready = AnnouncedWorker("w", "here", 1, EngineReport("spark", EngineState.READY))
    shared_neve._services.store.workers.announce(ready, 3600)
    with served(shared_neve) as url:
        yield url


# What is behind the routes does not matter for their document.
DOCUMENT = create_app(None).openapi()
OPERATIONS = [(path, method) for path, item in DOCUMENT["paths"].items() for method in item]


def name_a_table_that_is_there(case):
    """Names that are made up are refused before anything else is looked at."""
    if "table" in (case.path_parameters or {}):
        case.path_parameters["table"] = "analytics.events"
    if isinstance(case.body, dict) and "namespace" in case.body:
        case.body |= {"catalog": "production", "namespace": "analytics", "table": "events"}


def changes(neve, lake):
    """All that a request could change: what the state holds, and the heads of all tables."""
    store = neve._services.store
    with closing(sqlite3.connect(lake.folder / "catalog.db")) as catalog:
        heads = catalog.execute("SELECT * FROM iceberg_tables ORDER BY 1, 2, 3").fetchall()
    jobs = [(job.job_id, job.state, job.cancel_requested) for job in store.jobs(limit=10_000)]
    plans = [(plan.plan_id, plan.approved_at) for plan in store.plans.newest(1000)]
    others = store.set_aside_tables(), store.schedule_states(), store.policies.all()
    return jobs, plans, others, heads


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_an_operation_keeps_to_the_document(path, method, live, shared_neve, lake):
    cases = schemathesis.openapi.from_dict(DOCUMENT)[path][method].as_strategy()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(cases, st.booleans())
    def check(case, is_known):
        if is_known:
            name_a_table_that_is_there(case)
        before = changes(shared_neve, lake)
        response = case.call(base_url=live, timeout=120)
        case.validate_response(response, checks=CHECKS)
        if response.status_code >= 400:
            assert changes(shared_neve, lake) == before

    check()

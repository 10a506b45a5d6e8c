"""Every operation of the OpenAPI document, with examples made from it, on a live server.

No answer is a defect, every answer is as documented, and what was refused has changed nothing.
"""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.unit.api.conftest import served

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def live(shared_neve):
    with served(shared_neve) as url:
        yield url


@pytest.fixture(scope="module")
def document(live):
    return schemathesis.openapi.from_url(f"{live}/openapi.json")


schema = schemathesis.pytest.from_fixture("document")


def changes(neve):
    """All that a request could change."""
    store = neve._services.store
    jobs = [(job.job_id, job.state, job.cancel_requested) for job in store.jobs(limit=10_000)]
    plans = [(plan.plan_id, plan.approved_at) for plan in store.plans.newest(1000)]
    return jobs, plans, store.set_aside_tables(), store.schedule_states()


@schema.parametrize()
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
def test_an_operation_keeps_to_the_document(case, shared_neve):
    before = changes(shared_neve)
    response = case.call(timeout=20)
    case.validate_response(response, checks=CHECKS)
    if response.status_code >= 400:
        assert changes(shared_neve) == before

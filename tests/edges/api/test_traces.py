"""Traces are off unless an endpoint is set, and then every request is a span."""

from __future__ import annotations

import sys

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient

from neve.api.app import create_app
from neve.api.traces import trace
from neve.model.errors import EnvironmentProblem

NOWHERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


def test_without_an_endpoint_nothing_is_traced(neve):
    assert trace(create_app(neve), {}) is False
    assert trace(create_app(neve), {"OTEL_EXPORTER_OTLP_ENDPOINT": ""}) is False


def test_with_one_every_request_is_a_span(neve):
    app = create_app(neve)
    spans = InMemorySpanExporter()
    assert trace(app, NOWHERE, spans)

    with TestClient(app) as api:
        api.get("/api/v1/jobs/nope")
        api.get("/health")

    app.state.tracer_provider.shutdown()
    names = {span.name for span in spans.get_finished_spans() if span.parent is None}
    assert names == {"GET /api/v1/jobs/{job_id}"}


def test_an_endpoint_without_the_packages_is_said(neve, monkeypatch):
    app = create_app(neve)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(EnvironmentProblem) as raised:
        trace(app, NOWHERE)
    assert "neve[otel]" in raised.value.next_step

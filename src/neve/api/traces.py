"""OpenTelemetry traces: an extra, and off unless an endpoint for them is set."""

from __future__ import annotations

import os
from collections.abc import Mapping

from fastapi import FastAPI

from neve.model.errors import EnvironmentProblem

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def trace(app: FastAPI, environ: Mapping[str, str] | None = None) -> bool:
    """Send a span for every request, where the environment says to whom; tells whether."""
    environ = os.environ if environ is None else environ
    if not any(environ.get(name) for name in ENDPOINTS):
        return False
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.instrumentation.fastapi import FastAPIInstrumentor
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise EnvironmentProblem(
            f"{ENDPOINTS[0]} is set, and OpenTelemetry is not installed.",
            next_step="Install neve[otel], or unset the variable.",
        ) from error
    name = environ.get("OTEL_SERVICE_NAME", "neve")
    provider = TracerProvider(resource=Resource.create({"service.name": name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    FastAPIInstrumentor.instrument_app(app, tracer_provider=provider, excluded_urls="health,ready")
    app.state.tracer_provider = provider
    return True

from __future__ import annotations

from tests.unit.spark.gate.conftest import catalog, gate, pauses, send, server, uri

__all__ = ["catalog", "gate", "pauses", "send", "server", "uri"]

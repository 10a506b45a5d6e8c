from __future__ import annotations

from tests.unit.conftest import isolated

__all__ = ["isolated"]

from __future__ import annotations

from tests.system.stack_fixtures import lake, stack, trino_connect, trino_connection

__all__ = ["lake", "stack", "trino_connect", "trino_connection"]

"""The state on a Redis server, for several machines. The only importer of redis."""

from __future__ import annotations

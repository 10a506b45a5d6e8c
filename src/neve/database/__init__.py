"""CREATE_TABLE, WRITE, QUERY and COMPACT for tenants, over ports."""

from __future__ import annotations

"""Who may do what: callers, roles, grants, approvals, quotas, the audit chain. Pure."""

from __future__ import annotations

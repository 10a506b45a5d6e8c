"""Whether a tenant has room for jobs, by what the state counted of those that it had."""

from __future__ import annotations

from datetime import datetime

from neve.access.quotas import Quota, check_quota, day_of
from neve.service.store_ports import JobStore


def check_room(quota: Quota, store: JobStore, tenant: str, now: datetime, jobs: int) -> None:
    """Raise TooMuch where so many more jobs are more than the tenant may have."""
    if not quota.is_unlimited:
        check_quota(quota, store.usage(tenant, day_of(now)), tenant, now, jobs)

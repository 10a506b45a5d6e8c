"""What a server is asked, as values: which path, which body, with which key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

API = "/api/v1"
REWRITE = "rewrite_data_files"
EXPIRE = "expire_snapshots"
ORPHANS = "remove_orphan_files"
#: What marks files and deletes none; `purge` must be asked for by name.
ORPHAN_ACTION = "quarantine"


@dataclass(frozen=True, slots=True)
class Request:
    """One request; with a key, sending it again is the same request."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    key: str | None = None

    @property
    def is_repeatable(self) -> bool:
        return self.method != "POST" or self.key is not None

    def with_key(self, key: str) -> Request:
        return replace(self, key=key)

    def fingerprint(self) -> str:
        """Tells what is asked for from something else, whatever the key."""
        text = json.dumps([self.method, self.path, self.body], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def job(job_id: str) -> Request:
    return Request("GET", f"{API}/jobs/{_part(job_id)}")


def cancel(job_id: str) -> Request:
    return Request("DELETE", f"{API}/jobs/{_part(job_id)}")


def health(table: str) -> Request:
    return Request("GET", f"{_table(table)}/health")


def newest_snapshot(table: str) -> Request:
    return Request("GET", f"{_table(table)}/snapshots?limit=1")


def maintenance(
    table: str,
    operation: str | None = None,
    *,
    where: str | None = None,
    options: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    requested_by: str = "",
    priority: int = 0,
    tenant: str = "",
) -> Request:
    """An operation on a table; without one, all that the table's policy enables.

    `options` are those of Iceberg's procedure of this name, and `overrides` keys of Neve's policy.
    """
    asking = {"requested_by": requested_by, "priority": priority, "tenant": tenant}
    if where is not None and operation != REWRITE:
        raise ValueError(f"where is for {REWRITE} alone.")
    if operation in (EXPIRE, ORPHANS):
        if overrides:
            raise ValueError(f"{operation} takes options, and no overrides.")
        return _deleting(table, operation, dict(options or {}), dry_run, asking)
    if options and operation is None:
        raise ValueError("options belong to an operation: name one.")
    said = {f"{operation}.options.{name}": value for name, value in (options or {}).items()}
    if where is not None:
        said[f"{REWRITE}.where"] = where
    body = {
        **asking,
        "operations": [] if operation is None else [operation],
        "dry_run": dry_run,
        "overrides": {**said, **(overrides or {})},
    }
    return Request("POST", f"{_table(table)}/maintain", body)


def _deleting(
    table: str, operation: str, options: dict[str, Any], dry_run: bool, asking: Mapping[str, Any]
) -> Request:
    """What deletes for good has routes of its own, which look unless they are told to act."""
    if operation == EXPIRE:
        body = {**asking, **options, "apply": not dry_run}
        return Request("POST", f"{_table(table)}/expire", body)
    action = "look" if dry_run else options.pop("action", ORPHAN_ACTION)
    options.pop("action", None)
    return Request("POST", f"{_table(table)}/orphans", {**asking, **options, "action": action})


def queued(answer: Mapping[str, Any]) -> list[str]:
    """The ids of the jobs that an answer tells of: one, several, or none."""
    if "jobs" in answer:
        return [str(item["job_id"]) for item in answer["jobs"]]
    single = answer if "job_id" in answer else answer.get("job")
    return [str(single["job_id"])] if single else []


def _table(table: str) -> str:
    return f"{API}/tables/{_part(table)}"


def _part(text: str) -> str:
    return quote(text, safe="")

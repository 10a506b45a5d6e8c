"""What people are told about jobs, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time
from enum import StrEnum


class NoticeKind(StrEnum):
    """Why somebody is told."""

    FAILURE = "failure"
    RECOVERY = "recovery"
    DIGEST = "digest"


@dataclass(frozen=True, slots=True)
class Notice:
    """A message for a channel: plain text, for whatever it is read with."""

    kind: NoticeKind
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class DigestTime:
    """When the digest of the day before is sent; days are those of the time zone."""

    at: time = time(6)
    timezone: str = "UTC"

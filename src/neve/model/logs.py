"""What is logged, and how."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class LogFormat(StrEnum):
    """How lines are written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What was asked for on the command line or in the configuration."""

    #: 0 says nothing but warnings, 1 phases of jobs, 2 every event.
    verbosity: int = 0
    format: LogFormat = LogFormat.TEXT
    file: Path | None = None
    #: Values that must not appear in any line.
    secrets: Collection[str] = field(default_factory=tuple, repr=False)

    @property
    def is_wanted(self) -> bool:
        return self.verbosity > 0 or self.file is not None

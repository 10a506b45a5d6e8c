"""Log lines: one for every phase of every job, as text or as JSON, without secrets.

Nothing is logged unless it is asked for, and structlog is imported only then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, Protocol

from neve.model.errors import ConfigError
from neve.model.events import JobEvent
from neve.model.logs import LogFormat, LogSettings
from neve.secrets import hide_secrets


class SparkLine(Protocol):
    """One event of Spark's log."""

    @property
    def level(self) -> str: ...

    @property
    def logger(self) -> str: ...

    @property
    def message(self) -> str: ...


def event_log(settings: LogSettings) -> Callable[[JobEvent], None]:
    """What writes the line of an event."""
    if not settings.is_wanted:
        return _say_nothing
    logger = _logger(settings)
    passed: dict[str, str] = {}

    def write(event: JobEvent) -> None:
        is_new_phase = passed.get(event.job_id) != event.phase
        passed[event.job_id] = event.phase
        if is_new_phase or settings.verbosity > 1:
            logger.info(event.message or str(event.phase), **_fields(event))

    return write


def spark_log(settings: LogSettings) -> Callable[[SparkLine], None] | None:
    """What writes a line of Spark's own log, at WARN and above; None where nobody asked for it."""
    if not settings.is_wanted:
        return None
    logger = _logger(settings)

    def write(line: SparkLine) -> None:
        logger.info(line.message, level=line.level.lower(), logger=line.logger, source="spark")

    return write


def warning_log(settings: LogSettings) -> Callable[[str], None]:
    """What writes a trouble that no job fails for: into the log, or to stderr without one."""
    logger = _logger(settings) if settings.is_wanted else None

    def write(message: str) -> None:
        if logger is not None:
            logger.info(message, level="warning")
        else:
            sys.stderr.write(f"Warning: {hide_secrets(message, settings.secrets)}\n")

    return write


def _logger(settings: LogSettings) -> Any:
    import structlog

    def without_secrets(_: Any, __: str, line: MutableMapping[str, Any]) -> Mapping[str, Any]:
        return {
            key: hide_secrets(value, settings.secrets) if isinstance(value, str) else value
            for key, value in line.items()
        }

    is_json = settings.format is LogFormat.JSON
    render: Any = structlog.processors.JSONRenderer() if is_json else _as_text
    return structlog.wrap_logger(
        _Lines(settings.file),
        processors=[
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            without_secrets,
            render,
        ],
    )


def _say_nothing(event: JobEvent) -> None:
    """Nobody asked for a log."""


def _fields(event: JobEvent) -> dict[str, object]:
    fields: dict[str, object] = {
        "phase": str(event.phase),
        "job_id": event.job_id,
        "table": str(event.table),
        "operation": event.operation,
        "seconds": round(event.seconds, 3),
    }
    if event.snapshot_id is not None:
        # 64 bits are more than many readers of JSON keep.
        fields["snapshot_id"] = str(event.snapshot_id)
    if event.tasks_total:
        fields |= {"tasks_done": event.tasks_done, "tasks_total": event.tasks_total}
    if event.bytes_total:
        fields |= {"bytes_done": event.bytes_done, "bytes_total": event.bytes_total}
    return fields


def _as_text(_: Any, __: str, line: MutableMapping[str, Any]) -> str:
    told, moment = line.pop("event"), line.pop("timestamp")
    return f"{moment} {told} " + " ".join(f"{key}={value}" for key, value in line.items())


class _Lines:
    """Writes lines; a file is opened for each, so that it may be moved away meanwhile."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        if file is not None:
            self._append("")

    def info(self, line: str) -> None:
        if self._file is None:
            sys.stderr.write(f"{line}\n")
        else:
            self._append(f"{line}\n")

    def _append(self, text: str) -> None:
        assert self._file is not None
        try:
            with self._file.open("a", encoding="utf-8") as log:
                log.write(text)
        except OSError as error:
            raise ConfigError(
                f"The log file {self._file} cannot be written: {error.strerror}.",
                next_step="Give --log-file a file in a folder that can be written.",
            ) from error

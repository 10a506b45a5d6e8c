"""Lines of the log: one a phase, readable by people or programs, without secrets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from neve.model.errors import ConfigError
from neve.model.events import JobEvent
from neve.model.job import JobState
from neve.model.logs import LogFormat, LogSettings
from neve.secrets import hide_secrets, secrets_of
from neve.telemetry import event_log, spark_log
from neve.testing.facts import TABLE

CANARY = "canary-5f2a9"
EVENT = JobEvent("j1", TABLE, "rewrite_data_files", JobState.REWRITING, "Compacting …", seconds=2)
LOG = LogSettings(file=Path("neve.log"))


def lines() -> list[str]:
    return Path("neve.log").read_text(encoding="utf-8").splitlines()


def test_a_line_a_phase():
    write = event_log(LOG)
    for phase in (JobState.PLANNING, JobState.REWRITING, JobState.REWRITING, JobState.SUCCEEDED):
        write(replace(EVENT, phase=phase))

    assert [line.split(" phase=")[1].split()[0] for line in lines()] == [
        "planning",
        "rewriting",
        "succeeded",
    ]


def test_every_event_where_it_is_asked_for():
    write = event_log(replace(LOG, verbosity=2))
    write(EVENT)
    write(replace(EVENT, tasks_done=1, tasks_total=2))

    assert len(lines()) == 2
    assert lines()[1].endswith("tasks_done=1 tasks_total=2")


def test_lines_for_programs():
    event_log(replace(LOG, format=LogFormat.JSON))(replace(EVENT, snapshot_id=2**62))

    line = json.loads(lines()[0])
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "Compacting …",
        "phase": "rewriting",
        "job_id": "j1",
        "table": str(TABLE),
        "operation": "rewrite_data_files",
        "seconds": 2,
        "snapshot_id": str(2**62),
    }


def test_phases_go_to_stderr_where_there_is_no_file(capsys):
    event_log(LogSettings(verbosity=1))(EVENT)

    assert "Compacting … phase=rewriting job_id=j1" in capsys.readouterr().err


def test_sparks_warnings_join_without_secrets():
    settings = replace(LOG, format=LogFormat.JSON, secrets=[CANARY])
    spark_log(settings)(SimpleNamespace(level="WARN", logger="Utils", message=f"key {CANARY}"))

    line = json.loads(lines()[0])
    assert (line["level"], line["logger"], line["source"]) == ("warn", "Utils", "spark")
    assert line["event"].startswith("key ")
    assert CANARY not in lines()[0]


def test_nobody_reads_sparks_log_where_nobody_asked():
    assert spark_log(LogSettings()) is None


def test_nothing_is_written_where_nobody_asked(capsys):
    event_log(LogSettings())(EVENT)

    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "properties",
    [
        {"s3.secret-access-key": CANARY},
        {"token": CANARY},
        {"credential": f"client:{CANARY}"},
        {"uri": f"postgresql://user:{CANARY}@host/db"},
        {"jdbc.password": CANARY},
        {"header.Authorization": f"Bearer {CANARY}"},
    ],
)
@pytest.mark.parametrize("format", LogFormat)
def test_no_secret_is_written(properties, format):
    said = f"The catalog at {properties.get('uri', 'x')} refused {next(iter(properties.values()))}"
    settings = replace(LOG, format=format, secrets=secrets_of({"lake": properties}))

    event_log(settings)(replace(EVENT, message=said))

    assert CANARY not in Path("neve.log").read_text()


def test_values_that_are_no_secrets_are_written():
    secrets = secrets_of({"lake": {"uri": "sqlite:///state.db", "warehouse": "s3://bucket"}})

    assert hide_secrets("s3://bucket/db", secrets) == "s3://bucket/db"


def test_a_log_that_cannot_be_written_is_explained():
    with pytest.raises(ConfigError, match="cannot be written"):
        event_log(LogSettings(file=Path("nowhere") / "neve.log"))

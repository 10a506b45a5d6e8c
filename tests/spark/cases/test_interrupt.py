"""Ctrl-C while Spark starts and while it works: its JVM goes with the command, and nothing else."""

from __future__ import annotations

import os
import signal
import time

import psutil
import pytest
from tests.spark.cases.test_engine_death import jvms_of, place, wait_until

__all__ = ["place"]
pytestmark = pytest.mark.timeout(600)
#: Two, and what a machine with a JVM on it may take to run anything.
WITHIN_SECONDS = 3.0


def interrupt(process) -> tuple[int, str, float]:
    """As a terminal does: the signal is for the whole group of processes, the JVM's too."""
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    return process.returncode, said, time.monotonic() - began


@pytest.mark.parametrize("phase", ["starting", "rewriting"])
def test_the_command_its_jvm_and_its_claim_are_gone(place, phase):
    place.make("events")
    rows = place.rows("events")
    process = place.start("compact", "lake.db.events", "--engine", "spark", in_own_group=True)
    if phase == "starting":
        wait_until(lambda: jvms_of(process), process)
    else:
        wait_until(lambda: place.states("events") == ["rewriting"], process)
    jvms = jvms_of(process)

    code, said, seconds = interrupt(process)

    assert code == 130
    assert said.startswith("Interrupted; ")
    assert said.count("\n") == 1
    assert seconds < WITHIN_SECONDS
    _, alive = psutil.wait_procs(jvms, timeout=10)
    assert alive == []
    assert place.rows("events") == rows
    assert place.states("events")[0] in ("cancelled", "unknown", "succeeded")

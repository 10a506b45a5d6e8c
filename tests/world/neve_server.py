"""`neve serve` in a process of its own, over the stack's catalog."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

COMMAND = "from neve.cli.main import run; run()"
#: A machine that does other things besides takes its time.
END_SECONDS = 300
SPARK = {
    "master": "local[2]",
    "conf": {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "1"},
}


def write_config(folder: Path, catalogs: dict[str, Any]) -> Path:
    state = {"url": f"sqlite:///{folder}/state.db"}
    path = folder / "neve.yaml"
    path.write_text(yaml.safe_dump({"catalogs": catalogs, "state": state, "spark": SPARK}))
    return path


@contextmanager
def serving(config: Path, *roles: str) -> Iterator[str]:
    """The address of the server, while the block lasts."""
    words = ["serve", "--port", "0", "--config", str(config)]
    for role in roles:
        words += ["--role", role]
    log = config.parent / f"serve-{'-'.join(roles)}.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *words],
            cwd=config.parent,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stderr is not None
        copying = None
        try:
            first = server.stderr.readline()
            found = re.search(r"http://\S+", first)
            assert found or "api" not in roles, first + server.stderr.read()
            # What it says besides goes on into the log, so that it never waits for a reader.
            copying = subprocess.Popen(["cat"], stdin=server.stderr, stdout=out)
            yield found[0] if found else first
        finally:
            server.terminate()
            try:
                server.wait(END_SECONDS)
            finally:
                server.kill()
                server.wait()
                if copying is not None:
                    copying.wait()
                server.stderr.close()

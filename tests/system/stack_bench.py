"""A stack of a test's own: a `go` on the PATH installs a stand-in for the storage server."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "tools" / "stack"

FAKE_SERVER = f"""#!{sys.executable}
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Healthy(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

host, port = sys.argv[sys.argv.index("--port") + 1].split(":")
print("stand-in for the storage", flush=True)
HTTPServer((host, int(port)), Healthy).serve_forever()
"""

FAKE_GO = f"""#!{sys.executable}
import os, pathlib, time
with open(os.environ["GO_CALLS"], "a") as calls:
    calls.write("called\\n")
time.sleep(0.5)
server = pathlib.Path(os.environ["GOBIN"], "versitygw")
server.write_text({FAKE_SERVER!r})
server.chmod(0o755)
"""


class Workbench:
    """A stack of the test's own, with its own cache."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.cache = folder / "cache"
        self.go_calls = folder / "go_calls"
        self.programs = folder / "bin"
        self.programs.mkdir()
        self.environment = {
            "NEVE_STACK_HOME": str(self.home),
            "NEVE_CACHE": str(self.cache),
            "NEVE_STACK_TIMEOUT": "10",
            "GO_CALLS": str(self.go_calls),
            "PATH": str(self.programs),
            "HOME": str(folder),
        }

    def program(self, name: str, text: str) -> None:
        path = self.programs / name
        path.write_text(text)
        path.chmod(0o755)

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(FOLDER / "stack.py"), *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        process = self.begin(*arguments)
        said, _ = process.communicate(timeout=60)
        return process.returncode, said

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads((self.home / "stack.json").read_text())
        return facts

    @property
    def pid_record(self) -> dict[str, Any]:
        record: dict[str, Any] = json.loads((self.home / "s3.pid").read_text())
        return record


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    bench = Workbench(tmp_path)
    bench.program("go", FAKE_GO)
    yield bench
    bench.run("down")


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

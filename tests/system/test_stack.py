"""The program that runs the stack: idempotent, careful with processes, clear about failures.

Most tests put a `go` of their own on the PATH, which installs a stand-in for the storage server,
so that they need neither a network nor the running stack.
"""

from __future__ import annotations

import json
import os
import socket
import stat
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


def test_up_starts_a_part_and_says_where_it_is(bench: Workbench) -> None:
    code, said = bench.run("up", "s3")

    assert code == 0, said
    assert "versitygw-v1.8.0: downloading" in said
    assert answers(bench.facts["s3"]["port"])
    assert Path(bench.facts["s3"]["data_folder"], "lakehouse-warehouse").is_dir()


def test_files_with_credentials_are_for_their_owner_alone(bench: Workbench) -> None:
    bench.run("up", "s3")

    assert stat.S_IMODE((bench.home / "stack.json").stat().st_mode) == 0o600


def test_up_again_leaves_a_running_part_alone(bench: Workbench) -> None:
    bench.run("up", "s3")
    first = bench.pid_record

    code, said = bench.run("up", "s3")

    assert (code, bench.pid_record) == (0, first)
    assert "s3: already running." in said
    assert "downloading" not in said


def test_a_part_whose_start_was_cut_off_is_started_again(bench: Workbench) -> None:
    bench.run("up", "s3")
    port, first = bench.facts["s3"]["port"], bench.pid_record
    (bench.home / "stack.json").unlink()

    code, said = bench.run("up", "s3")

    assert code == 0, said
    assert bench.pid_record != first
    assert not answers(port)
    assert answers(bench.facts["s3"]["port"])


def test_two_at_once_download_and_start_once(bench: Workbench) -> None:
    processes = [bench.begin("up", "s3") for _ in range(2)]
    said = [process.communicate(timeout=60)[0] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], said
    assert bench.go_calls.read_text() == "called\n"
    assert sorted("already running" in text for text in said) == [False, True]


def test_two_stacks_that_share_a_cache_download_once(bench: Workbench, tmp_path: Path) -> None:
    first = bench.begin("up", "s3")
    other = dict(bench.environment, NEVE_STACK_HOME=str(tmp_path / "other"))
    command = [sys.executable, str(FOLDER / "stack.py")]
    try:
        second = subprocess.run([*command, "up", "s3"], env=other, check=False)
        first.communicate(timeout=60)
    finally:
        subprocess.run([*command, "down"], env=other, check=True)

    assert (first.returncode, second.returncode) == (0, 0)
    assert bench.go_calls.read_text() == "called\n"


def test_a_download_that_broke_off_is_made_again(bench: Workbench) -> None:
    leftover = bench.cache / "stack" / ".versitygw-v1.8.0.abandoned"
    leftover.mkdir(parents=True)
    (leftover / "versitygw").write_text("half of it")

    code, said = bench.run("up", "s3")

    assert code == 0, said
    assert not leftover.exists()


def test_a_download_that_fails_is_not_taken_for_complete(bench: Workbench) -> None:
    bench.program("go", "#!/bin/sh\necho no route to the registry\nexit 1\n")

    code, said = bench.run("up", "s3")

    assert code == 1
    assert "no route to the registry" in said
    assert [path.name for path in (bench.cache / "stack").iterdir()] == ["versitygw-v1.8.0.lock"]


def test_without_go_it_says_what_to_install(bench: Workbench) -> None:
    (bench.programs / "go").unlink()

    assert bench.run("up", "s3") == (
        1,
        "versitygw-v1.8.0: downloading; the first time this can take minutes.\n"
        "stack: s3: `go` is not on the PATH: install Go 1.24 or newer and run this again.\n",
    )


def test_without_maven_it_says_what_to_install(bench: Workbench) -> None:
    code, said = bench.run("up", "rest")

    assert code == 1
    assert said.endswith(
        "stack: rest: `mvn` is not on the PATH: install Apache Maven 3.8 or newer and run this "
        "again.\n"
    )


def test_a_part_that_dies_shows_the_end_of_its_log(bench: Workbench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bench.environment["NEVE_S3_PORT"] = str(taken.getsockname()[1])

        code, said = bench.run("up", "s3")

    assert code == 1
    assert "stack: s3: the process ended with code 1." in said
    assert "Address already in use" in said
    assert not (bench.home / "s3.pid").exists()


def test_a_part_that_never_answers_is_stopped(bench: Workbench, tmp_path: Path) -> None:
    pid_file = tmp_path / "silent.pid"
    server = f"#!/bin/sh\necho $$ > {pid_file}\nexec {sys.executable} -c 'input()' < /dev/zero\n"
    (bench.cache / "stack" / "versitygw-v1.8.0").mkdir(parents=True)
    silent = bench.cache / "stack" / "versitygw-v1.8.0" / "versitygw"
    silent.write_text(server)
    silent.chmod(0o755)
    bench.environment["NEVE_STACK_TIMEOUT"] = "1"

    code, said = bench.run("up", "s3")

    assert code == 1
    assert "stack: s3: no answer after 1 s." in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_down_with_a_name_keeps_data_and_port(bench: Workbench) -> None:
    bench.run("up", "s3")
    port, data = bench.facts["s3"]["port"], Path(bench.facts["s3"]["data_folder"])
    (data / "kept").touch()

    assert bench.run("down", "s3") == (0, "s3: stopped.\n")
    assert not answers(port)

    bench.run("up", "s3")
    assert bench.facts["s3"]["port"] == port
    assert (data / "kept").exists()


def test_down_without_names_ends_the_stack_and_drops_its_data(bench: Workbench) -> None:
    bench.run("up", "s3")

    code, said = bench.run("down")

    assert (code, said) == (0, "trino: was not running.\nrest: was not running.\ns3: stopped.\n")
    assert not (bench.home / "data").exists()
    assert not (bench.home / "stack.json").exists()
    assert (bench.home / "logs" / "s3.log").exists()


def test_down_never_stops_a_stranger_that_got_the_pid(bench: Workbench) -> None:
    bench.run("up", "s3")
    bench.run("down", "s3")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        record = json.dumps({"pid": stranger.pid, "started": "1"})
        (bench.home / "s3.pid").write_text(record)

        said = bench.run("down", "s3")

        assert said == (0, "s3: was not running.\n")
        assert stranger.poll() is None
        stranger.communicate(b"\n")


def test_down_insists_when_a_part_does_not_listen(bench: Workbench) -> None:
    stubborn = FAKE_SERVER.replace(
        "import sys\n", "import signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n", 1
    )
    bench.program("go", FAKE_GO.replace(repr(FAKE_SERVER), repr(stubborn)))
    bench.environment["NEVE_STACK_STOP_TIMEOUT"] = "1"
    bench.run("up", "s3")
    port = bench.facts["s3"]["port"]

    assert bench.run("down", "s3") == (0, "s3: stopped.\n")
    assert not answers(port)


def test_status_tells_what_runs(bench: Workbench) -> None:
    bench.run("up", "s3")

    code, said = bench.run("status")

    pid, endpoint = bench.pid_record["pid"], bench.facts["s3"]["endpoint"]
    assert (code, said) == (
        0,
        f"s3: pid {pid}, {endpoint}, answers\nrest: not running\ntrino: not running\n",
    )


def test_a_wrong_port_is_refused(bench: Workbench) -> None:
    bench.environment["NEVE_S3_PORT"] = "eighty"

    code, said = bench.run("up", "s3")

    assert code == 1
    assert "stack: s3: NEVE_S3_PORT is 'eighty', which is not a port number." in said


def test_an_unknown_part_is_refused(bench: Workbench) -> None:
    code, said = bench.run("up", "hive")

    assert code == 2
    assert "there is no part hive; there are s3, rest, trino" in said


@pytest.mark.parametrize(
    ("at_least", "below", "found"), [(17, 24, "seventeen"), (24, None, "twenty-five")]
)
def test_a_java_is_chosen_by_what_it_says_of_itself(
    bench: Workbench, tmp_path: Path, at_least: int, below: int | None, found: str
) -> None:
    for name, version in {
        "eight": "1.8.0_402",
        "seventeen": "17.0.15",
        "twenty-five": "25",
    }.items():
        program = tmp_path / name / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        program.chmod(0o755)
        bench.environment[f"JAVA_HOME_{name}"] = str(tmp_path / name)
    question = (
        "import javas; javas.FOLDERS = (); "
        f"print(javas.find_java({at_least}, {below}, 'The test').name)"
    )

    said = subprocess.run(
        [sys.executable, "-c", question],
        env=bench.environment | {"PYTHONPATH": str(FOLDER)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert said == f"{found}\n"


def test_every_part_of_the_real_stack_listens_on_loopback_alone(stack: Any) -> None:
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("the addresses that are listened on are read from Linux's /proc")
    lines = table.read_text().splitlines()[1:] + Path("/proc/net/tcp6").read_text().splitlines()[1:]
    listening = [line.split()[1].split(":") for line in lines if line.split()[3] == "0A"]
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}

    for part in stack.facts.values():
        addresses = {address for address, port in listening if int(port, 16) == part["port"]}
        assert addresses
        assert addresses <= loopback

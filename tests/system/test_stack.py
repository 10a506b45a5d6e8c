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
from pathlib import Path
from typing import Any

import pytest
from tests.system.stack_bench import FAKE_GO, FAKE_SERVER, FOLDER, Workbench, answers, bench

__all__ = ["bench"]


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


def test_a_port_in_use_is_said_and_nothing_is_started(bench: Workbench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        bench.environment["NEVE_S3_PORT"] = str(port)

        code, said = bench.run("up", "s3")

    assert code == 1
    assert said.endswith(
        f"stack: s3: port {port} of 127.0.0.1 cannot be had (Address already in use): end what "
        "uses it, or set NEVE_S3_PORT to another.\n"
    )
    assert not (bench.home / "s3.pid").exists()
    assert not (bench.home / "logs").exists()


def test_a_part_does_not_take_a_stranger_on_its_old_port_for_itself(bench: Workbench) -> None:
    bench.run("up", "s3")
    port = bench.facts["s3"]["port"]
    bench.run("down", "s3")

    with socket.create_server(("0.0.0.0", port)):
        code, said = bench.run("up", "s3")

    assert (code, f"port {port} of 127.0.0.1 cannot be had" in said) == (1, True)


def test_a_part_that_dies_shows_the_end_of_its_log(bench: Workbench) -> None:
    dying = FAKE_SERVER.replace("import sys\n", "import sys\nsys.exit('no room left')\n", 1)
    bench.program("go", FAKE_GO.replace(repr(FAKE_SERVER), repr(dying)))

    code, said = bench.run("up", "s3")

    assert code == 1
    assert "stack: s3: the process ended with code 1." in said
    assert "no room left" in said
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

    code, said = bench.run("status", "s3", "rest")

    pid, endpoint = bench.pid_record["pid"], bench.facts["s3"]["endpoint"]
    assert (code, said) == (
        0,
        f"s3: pid {pid}, {endpoint}, answers\nrest: not running\n",
    )


def test_a_wrong_port_is_refused(bench: Workbench) -> None:
    bench.environment["NEVE_S3_PORT"] = "eighty"

    code, said = bench.run("up", "s3")

    assert code == 1
    assert "stack: s3: NEVE_S3_PORT is 'eighty', which is not a port number." in said


def test_an_unknown_part_is_refused(bench: Workbench) -> None:
    code, said = bench.run("up", "hive")

    assert code == 2
    assert "there is no part hive; there are " in said


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

"""What a query does to its process, it does to nothing else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from neve.apart.confined import environment
from neve.apart.queries import COMMAND, ProcessQueries
from neve.catalog.travelling import storage_properties
from neve.model.database import QueryLimits
from neve.model.errors import EnvironmentProblem, QueryLimit, QueryRefused

pytestmark = [pytest.mark.promise(54), pytest.mark.timeout(240)]

NAUGHTY = [sys.executable, "-P", str(Path(__file__).parent / "naughty_child.py")]
CANARY = "canary-of-the-server"
LIMITS = QueryLimits(memory_bytes=2**20, max_scan_bytes=2**20)


@pytest.fixture(scope="module")
def queries():
    os.environ["NEVE_CANARY"] = CANARY
    made = ProcessQueries(NAUGHTY)
    yield made
    made.close()
    del os.environ["NEVE_CANARY"]


def run(queries, statement, seconds=30.0):
    return queries.run(statement, {}, LIMITS, seconds)


@pytest.mark.parametrize("how", ["crash", "bomb", "garbage", "other error", "no error", "no rows",
                                 "deep", "write"])  # fmt: skip
def test_a_process_that_ends_or_lies_ends_its_query_alone(queries, how):
    with pytest.raises(QueryLimit, match="its process ended"):
        run(queries, how)
    assert run(queries, "SELECT 1 AS one").rows == [{"one": 1}]


def test_a_decoder_without_end_ends(queries):
    begun = time.monotonic()
    with pytest.raises(QueryLimit, match="took longer than"):
        run(queries, "endless", 0.2)
    assert time.monotonic() - begun < 60
    assert run(queries, "SELECT 1 AS one").rows == [{"one": 1}]


def test_a_query_that_nobody_waits_for_is_ended(queries):
    with pytest.raises(QueryLimit):
        run(queries, "wait", 0.1)
    children = Path(f"/proc/{queries._process.pid}/task/{queries._process.pid}/children")
    for _ in range(1000):
        if not children.read_text().split():
            return
        threading.Event().wait(0.01)
    pytest.fail("its process is still there")


def test_no_secret_of_the_server_is_in_its_process(queries):
    with pytest.raises(QueryLimit) as caught:
        run(queries, "variables")
    assert "PATH" in caught.value.message
    assert "NEVE_CANARY" not in caught.value.message
    assert CANARY not in caught.value.message
    assert CANARY.encode() not in Path(f"/proc/{queries._process.pid}/environ").read_bytes()


def test_no_file_of_the_server_is_open_in_its_process(queries):
    with Path("secret").open("w"), pytest.raises(QueryLimit) as caught:
        run(queries, "descriptors")
    # Three of every process, the connection, and the folder that is being listed.
    assert len(caught.value.message.split()) <= 5, caught.value.message


def test_variables_are_those_that_reading_needs():
    said = {"AWS_REGION": "x", "NEVE_KEY": "s", "https_proxy": "p", "PGPASSWORD": "s", "HOME": "h"}
    kept = environment(said, ["", "/lib"])
    assert set(kept) - {"ARROW_DEFAULT_MEMORY_POOL", "MALLOC_ARENA_MAX"} == {
        "AWS_REGION", "https_proxy", "HOME", "PYTHONPATH",
    }  # fmt: skip
    assert kept["PYTHONPATH"] == "/lib"


def test_secrets_of_a_catalog_stay_with_the_catalog():
    said = {"uri": "https://u:p@c", "token": "t", "credential": "c", "s3.endpoint": "e"}
    assert storage_properties(said) == {"s3.endpoint": "e"}
    # Whoever signs requests to the storage asks who wants them signed.
    assert storage_properties({**said, "s3.signer": "S"}) == {**said, "s3.signer": "S"}


def test_the_process_that_forks_is_started_again(queries):
    run(queries, "SELECT 1 AS one")
    queries._process.kill()
    queries._process.wait()
    assert run(queries, "SELECT 1 AS one").rows == [{"one": 1}]


def test_queries_at_once_have_a_process_each(queries):
    found = []

    def ask(number):
        found.append(run(queries, f"SELECT {number} AS n").rows[0]["n"])

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    with pytest.raises(QueryLimit):
        run(queries, "crash")
    for thread in threads:
        thread.join()
    assert sorted(found) == [0, 1, 2, 3]


def test_what_cannot_be_started_is_told():
    with pytest.raises(EnvironmentProblem, match="cannot be started"):
        ProcessQueries([sys.executable, "-c", "raise SystemExit(1)"]).run("x", {}, LIMITS, 1.0)


def test_errors_of_statements_come_back_as_they_are(queries):
    with pytest.raises(QueryRefused, match="cannot be run"):
        run(queries, "SELECT nothing")
    assert COMMAND[0] == sys.executable


def test_the_process_that_forks_says_nothing_when_its_server_is_gone():
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(COMMAND, stdin=theirs.fileno(), stderr=subprocess.PIPE)
    ours.close()
    said = process.communicate(timeout=120)[1]
    assert (said, process.returncode) == (b"", 0)

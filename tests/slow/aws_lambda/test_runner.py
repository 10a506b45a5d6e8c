"""The function behind HTTP: many calls at once, the Postman collection, and a service beside it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from tests.edges.api.conftest import served
from tests.edges.aws_lambda.test_function import CREATE, PLACE, event, function, write
from tests.edges.database.lake import open_neve
from tests.slow.api.test_postman import ROOT, tool

from neve.access.rights import Grant, Role
from neve.aws_lambda.__main__ import main
from neve.aws_lambda.function import Function
from neve.aws_lambda.runner import INVOCATIONS, Runner
from neve.database.bodies import REQUEST

__all__ = ["function"]


def test_compact_goes_to_the_service_where_one_is_named(tmp_path):
    with open_neve(tmp_path, compact_wait_seconds=0) as neve, served(neve) as url:
        (tmp_path / "own").mkdir()
        made = Function(lambda: open_neve(tmp_path / "own", service_url=url))
        neve.database.create_table(REQUEST.validate_python(CREATE))
        for number in range(3):
            neve.database.write(REQUEST.validate_python(write(str(number))))
        answer = made(event({"operation": "COMPACT", **PLACE}))
        body = json.loads(answer["body"])

        assert (answer["statusCode"], body["engine"]) == (202, "service")
        assert neve.job(body["job_id"]).tenant == "test-tenant"
        missing = made(event({"operation": "COMPACT", **PLACE, "table": "nobodys"}))
        assert missing["statusCode"] == 404
        made.close()


@pytest.mark.promise(58)
def test_the_function_tells_the_service_who_it_is(tmp_path):
    with open_neve(tmp_path, {"enabled": True}, compact_wait_seconds=0) as neve:
        grants = [Grant(Role.OPERATOR, "lake.t_*")]
        _, secret = neve.access.create_key("function", grants, all_tenants=True)
        neve.database.create_table(REQUEST.validate_python(CREATE))
        for number in range(3):
            neve.database.write(REQUEST.validate_python(write(str(number))))
        answers = []
        with served(neve) as url:
            for name, key in (("good", secret), ("bad", f"{secret}x"), ("none", None)):
                (tmp_path / name).mkdir()
                said = {"service_url": url, "service_key": key}
                made = Function(lambda said=said, name=name: open_neve(tmp_path / name, **said))
                answers.append(made(event({"operation": "COMPACT", **PLACE})))
                made.close()

        good, bad, none = answers
        job = neve.job(json.loads(good["body"])["job_id"])
        assert (job.tenant, job.requested_by.endswith(":function")) == ("test-tenant", True)
        for answer in (bad, none):
            assert answer["statusCode"] == 500
            assert "database.service_key" in json.loads(answer["body"])["next_step"]
            assert secret not in answer["body"]
        assert len(neve.history()) == 1


def test_pages_of_other_sites_do_not_reach_the_runner(function):
    with Runner(function, port=0) as runner:
        thread = threading.Thread(target=runner.serve_forever, args=(0.05,))
        thread.start()
        for headers, status in (
            ({"Host": "evil.example.com"}, 403),
            ({"Origin": "https://evil.example.com"}, 403),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
            ({}, 200),
        ):
            connection = HTTPConnection("127.0.0.1", runner.server_port, timeout=60)
            connection.request("POST", INVOCATIONS, json.dumps(event(CREATE)), headers)
            assert connection.getresponse().status == status, headers
            connection.close()
        runner.shutdown()
        thread.join()


def test_the_runner_survives_calls_at_once(function):
    with Runner(function, port=0) as runner:
        thread = threading.Thread(target=runner.serve_forever, args=(0.05,))
        thread.start()

        def post(sent, path=INVOCATIONS):
            connection = HTTPConnection("127.0.0.1", runner.server_port, timeout=60)
            text = sent if isinstance(sent, str) else json.dumps(sent)
            connection.request("POST", path, text)
            response = connection.getresponse()
            found = response.status, json.loads(response.read())
            connection.close()
            return found

        assert post(event(CREATE))[0] == 200
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda n: post(event(write(str(n)))), range(48)))
        assert {answer["statusCode"] for _, answer in answers} == {200}
        count = {"operation": "QUERY", **PLACE, "sql": "SELECT count(*) AS n FROM test_users"}
        assert json.loads(post(event(count))[1]["body"])["records"] == [{"n": 48}]
        assert post("{")[0] == 400
        assert post("[" * 100_000)[0] == 400
        assert post({}, "/elsewhere")[0] == 404
        runner.shutdown()
        thread.join()


def test_the_postman_collection_runs_against_the_runner(function):
    folder = ROOT / "docs" / "postman"
    read = lambda name: json.loads((folder / name).read_text("utf-8"))  # noqa: E731
    with Runner(function, port=0) as runner:
        thread = threading.Thread(target=runner.serve_forever, args=(0.05,))
        thread.start()
        results = list(
            tool("run_postman").run(
                read("database.postman_collection.json"),
                read("local.postman_environment.json"),
                base_url=f"http://127.0.0.1:{runner.server_port}",
            )
        )
        runner.shutdown()
        thread.join()

    assert len(results) == 9
    assert [result for result in results if not result[2]] == []
    answer = function(event({"operation": "QUERY", **PLACE, "table": "users"}))
    assert json.loads(answer["body"])["row_count"] == 5


def test_it_is_started_by_its_name():
    command = [sys.executable, "-m", "neve.aws_lambda", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = urlsplit(process.stdout.readline().strip())
            connection = HTTPConnection(address.hostname, address.port, timeout=60)
            connection.request("POST", address.path, json.dumps(event("", "/health", "GET")))
            answer = json.loads(connection.getresponse().read())
            assert (address.hostname, answer["statusCode"]) == ("127.0.0.1", 200)
            connection.close()
        finally:
            process.terminate()


@pytest.mark.parametrize("port", ["taken", "99999"])
def test_a_port_that_cannot_be_had_is_one_sentence(function, capsys, port):
    with Runner(function, port=0) as runner, pytest.raises(SystemExit) as ended:
        main(["--port", str(runner.server_port) if port == "taken" else port])
    assert ended.value.code == 1
    told = capsys.readouterr().err
    assert told.startswith("Error: Port ")
    assert told.count("\n") == 1

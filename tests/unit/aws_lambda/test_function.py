"""Events in, answers out: the documented calls, and whatever else may arrive."""

from __future__ import annotations

import base64
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import pytest
from tests.unit.api.conftest import served
from tests.unit.api.test_postman import ROOT, tool
from tests.unit.database.lake import FIELDS, open_neve

from neve.aws_lambda.function import Function
from neve.aws_lambda.runner import INVOCATIONS, Runner
from neve.model.errors import ConfigError

PLACE = {"tenant_id": "test-tenant", "namespace": "default", "table": "test_users"}
CREATE = {"operation": "CREATE_TABLE", **PLACE, "schema": {"fields": FIELDS}, "if_not_exists": True}


def event(body, path="/database", method="POST", **more):
    text = body if isinstance(body, str) else json.dumps(body)
    return {"httpMethod": method, "path": path, "body": text, **more}


def write(name, **more):
    return {"operation": "WRITE", **PLACE, "records": [{"name": name, **more}]}


@pytest.fixture
def function(tmp_path):
    made = Function(lambda: open_neve(tmp_path))
    yield made
    made.close()


@pytest.fixture
def call(function):
    def call(body, **more):
        answer = function(event(body, **more), None)
        assert set(answer) == {"statusCode", "headers", "body"}
        return answer["statusCode"], json.loads(answer["body"])

    return call


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    """A function over an empty lake, for what is refused."""
    made = Function(lambda: open_neve(tmp_path_factory.mktemp("idle")))
    yield made
    made.close()


def test_the_documented_calls(call):
    assert call("", path="/health", method="GET") == (200, {"status": "ok"})
    assert call(CREATE)[0] == 200
    answers = [call(write(f"User-{number}", age=20 + number))[1] for number in range(1, 6)]
    assert [a["compaction_recommended"] for a in answers] == [False] * 4 + [True]
    assert answers[4]["small_files_count"] == 5

    compact = {"operation": "COMPACT", **PLACE, "force": True, "expire_snapshots": False}
    status, answer = call(compact)

    assert (status, answer["compacted"], answer["engine"]) == (200, True, "in_process")
    assert set(answer["stats"]) == {
        "files_before", "files_after", "files_compacted", "files_removed", "bytes_before",
        "bytes_after", "bytes_saved", "snapshots_expired", "compaction_time_ms",
        "small_files_remaining",
    }  # fmt: skip
    assert (answer["stats"]["files_before"], answer["stats"]["files_after"]) == (5, 1)
    query = {"operation": "QUERY", **PLACE, "sql": "SELECT sum(age) AS s FROM test_users"}
    assert call(query)[1]["records"] == [{"s": 115}]


@pytest.mark.parametrize(
    ("sent", "status", "kind"),
    [
        (None, 422, "input"),
        ([], 422, "input"),
        ({}, 404, "not-found"),
        (event("{}", path="/"), 404, "not-found"),
        (event("{}", path="/database/../x"), 404, "not-found"),
        (event("{}", method="GET"), 405, "method-not-allowed"),
        (event("{"), 400, "not-json"),
        (event("[" * 100_000), 400, "not-json"),
        (event("{}"), 422, "validation"),
        (event({"operation": "DROP", **PLACE}), 422, "validation"),
        (event({**write("a"), "x": 1}), 422, "validation"),
        (event({**write("a"), "table": "a.b"}), 422, "input"),
        (event(write("a")), 404, "table-not-found"),
        (event({"operation": "QUERY", **PLACE, "sql": "ATTACH 'x'"}), 422, "query"),
        ({**event("{}"), "body": None}, 422, "input"),
        ({**event("{}"), "body": "\ud800"}, 422, "input"),
        ({**event("?"), "isBase64Encoded": True}, 422, "input"),
        (event(" " * (6 * 1024 * 1024 + 1)), 422, "input"),
        ({**event(write("a")), "headers": {"Idempotency-Key": "x" * 256}}, 422, "input"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_sentence(idle, sent, status, kind):
    answer = idle(sent, None)
    problem = json.loads(answer["body"])

    assert (answer["statusCode"], problem["type"]) == (status, f"urn:neve:problem:{kind}")
    assert problem["success"] is False
    assert problem["detail"]
    assert "Traceback" not in answer["body"]
    assert answer["headers"]["Content-Type"] == "application/problem+json"


def test_other_forms_of_the_same_event(call, function):
    call(CREATE)
    encoded = base64.b64encode(json.dumps(write("a")).encode()).decode()
    newer = {
        "requestContext": {"http": {"method": "POST"}},
        "rawPath": "/api/v1/database/",
        "headers": {"idempotency-key": "k"},
        "body": encoded,
        "isBase64Encoded": True,
    }
    answers = [json.loads(function(newer)["body"]) for _ in range(2)]
    assert [answer["repeated"] for answer in answers] == [False, True]


def test_bad_records_have_their_sentences(call):
    call(CREATE)
    status, problem = call(write(1, nope=2))
    assert status == 422
    assert [item["location"] for item in problem["errors"]] == [
        ["records", 0, "name"],
        ["records", 0, "nope"],
    ]


def test_a_defect_or_a_bad_configuration_is_told_without_its_inside(caplog):
    def fail():
        raise ValueError("secret")

    def refuse():
        raise ConfigError("No catalog is configured.")

    answer = Function(fail)(event(write("a")))
    assert (answer["statusCode"], "secret" in answer["body"]) == (500, False)
    assert "secret" in caplog.text
    answer = Function(refuse)(event(write("a")))
    assert json.loads(answer["body"])["detail"] == "No catalog is configured."


def test_compact_goes_to_the_service_where_one_is_named(tmp_path):
    with open_neve(tmp_path, compact_wait_seconds=0) as neve, served(neve) as url:
        (tmp_path / "own").mkdir()
        made = Function(lambda: open_neve(tmp_path / "own", service_url=url))
        neve.database.create_table(_request(CREATE))
        for number in range(3):
            neve.database.write(_request(write(str(number))))
        answer = made(event({"operation": "COMPACT", **PLACE}))
        body = json.loads(answer["body"])

        assert (answer["statusCode"], body["engine"]) == (202, "service")
        assert neve.job(body["job_id"]).tenant == "test-tenant"
        missing = made(event({"operation": "COMPACT", **PLACE, "table": "nobodys"}))
        assert missing["statusCode"] == 404
        made.close()


def test_neither_spark_nor_a_server_is_imported():
    import subprocess

    code = (
        "import sys, neve.aws_lambda, neve.in_process, neve.database.service;"
        "print([m for m in ('pyspark', 'py4j', 'fastapi', 'uvicorn') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


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


def _request(body):
    from neve.database.bodies import REQUEST

    return REQUEST.validate_python(body)

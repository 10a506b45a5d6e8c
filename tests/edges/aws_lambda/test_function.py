"""Events in, answers out: the documented calls, and whatever else may arrive."""

from __future__ import annotations

import base64
import json
import sys

import pytest
from tests.edges.database.lake import FIELDS, open_neve

from neve.aws_lambda.function import Function
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
        (event(json.dumps(write("a"))[:-1] + ', "table": "b"}'), 400, "key-twice"),
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


def test_neither_spark_nor_a_server_is_imported():
    import subprocess

    code = (
        "import sys, neve.aws_lambda, neve.in_process, neve.database.service;"
        "print([m for m in ('pyspark', 'py4j', 'fastapi', 'uvicorn') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"

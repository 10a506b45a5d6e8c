"""Answers to commits: what is there is done, and what is in doubt is neither retried nor cleaned.

Iceberg takes the code from the body and looks at the status for retries, so both are looked at.
"""

from __future__ import annotations

import pytest
import requests
from tests.unit.spark.gate.conftest import BASE, OURS, TABLE_PATH, THEIRS, Said, append, table_at

pytestmark = pytest.mark.promise(6)

#: Every answer that is not what a catalog says when it is done.
ANSWERS = {
    "400": Said(400, {"error": {"message": "bad", "type": "BadRequestException", "code": 400}}),
    "401": Said(401, {"error": {"message": "who", "type": "NotAuthorizedException", "code": 401}}),
    "403": Said(403, {"error": {"message": "no", "type": "ForbiddenException", "code": 403}}),
    "404": Said(404, {"error": {"message": "gone", "type": "NoSuchTableException", "code": 404}}),
    "408": Said(408),
    "409": Said(409, {"error": {"message": "late", "type": "CommitFailedException", "code": 409}}),
    "412": Said(412),
    "418 in HTML": Said(418, raw=b"<html>I am\n a teapot</html>"),
    "422": Said(422),
    "429": Said(429, headers={"Retry-After": "7"}),
    "500": Said(500),
    "500 that says 404": Said(500, {"error": {"message": "x", "type": "NoSuch", "code": 404}}),
    "501": Said(501),
    "502": Said(502),
    "503": Said(503),
    "503 with Retry-After": Said(503, headers={"Retry-After": "Tue, 17 Nov 2026 03:00:00 GMT"}),
    "504": Said(504),
    "302": Said(302, headers={"Location": "http://elsewhere.example/x"}),
    "a broken connection": Said(None),
    "200 cut short": Said(200, table_at(BASE, OURS), missing=10),
    "200 with nothing": Said(200, raw=b""),
    "200 without a table": Said(200, {"ok": True}),
    "201": Said(201, table_at(BASE, OURS)),
    "204": Said(204),
}
PATIENT = ("429", "503 with Retry-After")


def error_of(answer):
    return answer.json()["error"]


def assert_unknown(answer):
    """Iceberg keeps its files, does not send again, and reports an unknown state."""
    assert answer.status_code in (500, 502, 503, 504)
    assert error_of(answer)["code"] == answer.status_code
    assert "Retry-After" not in answer.headers


def test_what_is_done_is_passed_on(send, catalog):
    catalog.says("POST", Said(200, table_at(BASE, OURS)))

    answer = send("POST", TABLE_PATH, append())

    assert (answer.status_code, answer.json()) == (200, table_at(BASE, OURS))
    assert catalog.count("GET") == 0


@pytest.mark.parametrize("said", ANSWERS)
@pytest.mark.parametrize("history", [(BASE, OURS), (BASE, OURS, THEIRS)], ids=["alone", "others"])
def test_a_commit_that_is_in_the_table_is_done(send, catalog, said, history):
    catalog.says("POST", ANSWERS[said])
    catalog.says("GET", Said(200, {**table_at(*history), "config": {"secret": "x"}}))

    answer = send("POST", TABLE_PATH, append())

    assert (answer.status_code, answer.json()) == (200, table_at(*history))
    assert (catalog.count("POST"), "Retry-After" in answer.headers) == (1, False)


@pytest.mark.parametrize("said", ANSWERS)
def test_a_commit_that_is_not_in_the_table_is_in_doubt(send, catalog, said):
    catalog.says("POST", ANSWERS[said])
    catalog.says("GET", Said(200, table_at(BASE)))

    answer = send("POST", TABLE_PATH, append())

    assert_unknown(answer)
    assert catalog.count("POST") == (3 if said in PATIENT else 1)


@pytest.mark.parametrize("said", ANSWERS)
@pytest.mark.parametrize(
    "read",
    [Said(401), Said(500), Said(None), Said(404), Said(200, raw=b"<html>"), Said(200, {"x": 1})],
    ids=["401", "500", "broken", "404", "html", "no table"],
)
def test_a_table_that_cannot_be_read_tells_nothing(send, catalog, said, read):
    catalog.says("POST", ANSWERS[said])
    catalog.says("GET", read)

    answer = send("POST", TABLE_PATH, append())

    assert_unknown(answer)
    assert catalog.count("POST") == 1


@pytest.mark.parametrize("said", ANSWERS)
def test_only_a_conflict_that_the_table_shows_is_one(send, catalog, said):
    """Another writer was faster: the commit is not there and can no longer come."""
    catalog.says("POST", ANSWERS[said])
    catalog.says("GET", Said(200, table_at(BASE, THEIRS)))

    answer = send("POST", TABLE_PATH, append())

    if said == "409":
        assert (answer.status_code, error_of(answer)["code"]) == (409, 409)
        assert error_of(answer)["message"] == "late"
    else:
        assert_unknown(answer)


def test_a_conflict_that_shows_late_is_waited_for(send, catalog, pauses):
    catalog.says("POST", Said(409))
    catalog.says("GET", Said(200, table_at(BASE)), Said(200, table_at(BASE, OURS)))

    assert send("POST", TABLE_PATH, append()).status_code == 200
    assert pauses == [0.0, 0.5]


@pytest.mark.parametrize("said", PATIENT)
def test_a_busy_catalog_is_asked_again_once_the_table_was_read(send, catalog, pauses, said):
    catalog.says("POST", ANSWERS[said], Said(200, table_at(BASE, OURS)))
    catalog.says("GET", Said(200, table_at(BASE)))

    answer = send("POST", TABLE_PATH, append())

    assert (answer.status_code, catalog.count("POST"), catalog.count("GET")) == (200, 2, 1)
    assert pauses == [0.0, 7.0 if said == "429" else 1.0]


@pytest.mark.parametrize("final", [(BASE, OURS), (BASE, OURS, THEIRS)], ids=["alone", "others"])
def test_a_commit_that_came_late_is_found_after_it_was_sent_again(send, catalog, final):
    catalog.says("POST", ANSWERS["429"], ANSWERS["409"])
    catalog.says("GET", Said(200, table_at(BASE)), Said(200, table_at(*final)))

    answer = send("POST", TABLE_PATH, append())

    assert (answer.status_code, answer.json()) == (200, table_at(*final))


@pytest.mark.parametrize("refusal", ["401", "404"])
def test_a_refusal_after_a_busy_answer_is_in_doubt(send, catalog, refusal):
    catalog.says("POST", ANSWERS["503 with Retry-After"], ANSWERS[refusal])
    catalog.says("GET", Said(200, table_at(BASE)), ANSWERS[refusal])

    assert_unknown(send("POST", TABLE_PATH, append()))


def test_what_no_requirement_guards_is_sent_once(send, catalog):
    request = {**append(), "requirements": [{"type": "assert-table-uuid", "uuid": "u-1"}]}
    catalog.says("POST", ANSWERS["429"])
    catalog.says("GET", Said(200, table_at(BASE)))

    assert_unknown(send("POST", TABLE_PATH, request))
    assert catalog.count("POST") == 1


@pytest.mark.parametrize("said", ["409", "403", "429"])
def test_a_commit_that_somebody_took_off_main_is_in_doubt(send, catalog, said):
    """A conflict would make Iceberg move main back to it."""
    catalog.says("POST", ANSWERS[said])
    catalog.says("GET", Said(200, table_at(BASE, OURS, main=BASE)))

    assert_unknown(send("POST", TABLE_PATH, append()))


def test_the_catalog_s_words_are_kept(send, catalog):
    catalog.says("POST", ANSWERS["403"])
    catalog.says("GET", Said(200, table_at(BASE)))

    error = error_of(send("POST", TABLE_PATH, append()))

    assert error == {
        "message": "The catalog answered 403 to a commit: no Whether it was applied is not known.",
        "type": "ForbiddenException",
        "code": 500,
    }


@pytest.mark.parametrize(
    "body", [b"", b"[1]", b"{}", b'{"updates": 3}', b'{"updates": [{}]}', b"[" * 100_000]
)
def test_a_request_that_is_not_understood_is_sent_once_and_never_refused(uri, catalog, body):
    catalog.says("POST", ANSWERS["403"])

    assert_unknown(requests.post(f"{uri}/{TABLE_PATH}", data=body, timeout=20))
    assert (catalog.count("POST"), catalog.count("GET")) == (1, 0)


def test_the_table_is_read_whole_with_the_same_credentials(send, catalog):
    catalog.says("POST", ANSWERS["403"])
    catalog.says("GET", Said(200, table_at(BASE, OURS)))

    send(
        "POST", TABLE_PATH, append(), headers={"Authorization": "Bearer t", "Idempotency-Key": "k"}
    )

    method, path, headers, _ = catalog.asked[-1]
    assert (method, path) == ("GET", f"/api/{TABLE_PATH}?snapshots=all")
    assert headers["Authorization"] == "Bearer t"
    assert "Idempotency-Key" not in headers

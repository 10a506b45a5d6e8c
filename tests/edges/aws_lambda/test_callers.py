"""Who calls the function: keys and tokens of events, as servers take them."""

from __future__ import annotations

import json
import time

import pytest
from tests.edges.access.issuer import KEY, running_issuer
from tests.edges.aws_lambda.test_function import event
from tests.edges.database.lake import open_neve

from neve.access.rights import Grant, Role
from neve.aws_lambda.callers import PLATFORM, Callers
from neve.aws_lambda.events import Event
from neve.aws_lambda.function import Function
from neve.database.bodies import REQUEST
from neve.guarding import Notes
from neve.model.errors import NotAuthenticated, StoreError, TooMuch

pytestmark = pytest.mark.promise(58)

PLACE = {"tenant_id": "acme", "namespace": "default", "table": "users"}
QUERY = {"operation": "QUERY", **PLACE, "sql": "SELECT 1 AS one"}


@pytest.fixture(scope="module")
def issuer():
    with running_issuer() as found:
        yield found


@pytest.fixture(scope="module")
def neve(tmp_path_factory, issuer):
    roles = {"ops": [{"role": "operator", "tables": ["lake.t_acme__*"]}]}
    oidc = {"issuer": issuer.issuer, "audience": "neve", "tenant_claim": "org", "roles": roles}
    with open_neve(tmp_path_factory.mktemp("f"), access={"enabled": True, "oidc": oidc}) as neve:
        yield neve


@pytest.fixture(scope="module")
def function(neve):
    return Function(lambda: neve)


@pytest.fixture(scope="module")
def secret(neve):
    grants = [Grant(Role.OPERATOR, "lake.t_acme__*")]
    return neve.access.create_key("ann", grants, tenant="acme")[1]


def status(function, sent):
    return function(sent)["statusCode"]


def bearer(secret):
    return f"Bearer {secret}"


def test_a_key_of_an_event_is_one_of_a_server(function, secret):
    for headers in ({"Authorization": bearer(secret)}, {"authorization": f"bearer  {secret} "}):
        assert status(function, event(QUERY, headers=headers)) == 200
    several = {"Authorization": [bearer(secret)]}
    assert status(function, event(QUERY, multiValueHeaders=several)) == 200
    both = {"headers": {"authorization": bearer(secret)}, "multiValueHeaders": several}
    assert status(function, event(QUERY, **both)) == 200


def test_whoever_is_not_known_is_refused_before_the_body_is_read(function, neve, secret):
    revoked, text = neve.access.create_key("old", [Grant(Role.VIEWER)], tenant="acme")
    neve.access.revoke_key(revoked.prefix)
    for headers in (
        {},
        None,
        "x",
        {"Authorization": secret},
        {"Authorization": "Bearer "},
        {"Authorization": f"Basic {secret}"},
        {"Authorization": bearer(secret[:-1])},
        {"Authorization": bearer(secret), "authorization": bearer("other")},
        {"Authorization": bearer(text)},
        {"X-Api-Key": secret},
        {"Authorization": {"Bearer": secret}},
    ):
        answer = function(event("{", headers=headers))
        assert answer["statusCode"] == 401, headers
        assert answer["headers"]["WWW-Authenticate"] == "Bearer"
        assert secret not in answer["body"]


def test_a_key_in_an_address_is_refused_even_with_a_good_one(function, secret):
    headers = {"Authorization": bearer(secret)}
    for parameters in ({"api_key": "x"}, {"q": secret}, {"TOKEN": "x"}):
        sent = event(QUERY, headers=headers, queryStringParameters=parameters)
        answer = function(sent)
        assert answer["statusCode"] == 422, parameters
        assert "address" in json.loads(answer["body"])["detail"]
        assert secret not in answer["body"]
    several = {"token": ["x"]}
    sent = event(QUERY, headers=headers, multiValueQueryStringParameters=several)
    assert status(function, sent) == 422


def test_a_token_of_the_issuer_is_taken(function, issuer):
    claims = {"iss": issuer.issuer, "aud": "neve", "sub": "bob", "org": "acme", "roles": ["ops"]}
    token = issuer.token({**claims, "exp": int(time.time()) + 60})
    assert status(function, event(QUERY, headers={"Authorization": bearer(token)})) == 200
    late = issuer.token({**claims, "exp": int(time.time()) - 600})
    assert status(function, event(QUERY, headers={"Authorization": bearer(late)})) == 401
    other = issuer.token({**claims, "exp": int(time.time()) + 60, "org": "hush"}, KEY)
    assert status(function, event(QUERY, headers={"Authorization": bearer(other)})) == 403


def test_health_is_for_all_and_nothing_else_is(function):
    assert status(function, event("", "/health", "GET")) == 200
    for path in ("/", "/database", "/metrics", "/health/x"):
        assert status(function, event("", path, "GET")) == 401


def test_on_its_platform_a_function_that_asks_nobody_answers_nobody(tmp_path, monkeypatch):
    with open_neve(tmp_path) as neve:
        made = Function(lambda: neve)
        assert status(made, event(QUERY)) == 200
    monkeypatch.setenv(PLATFORM, "127.0.0.1:9001")
    with open_neve(tmp_path) as neve:
        answer = Function(lambda: neve)(event(QUERY))
        assert answer["statusCode"] == 500
        assert "asks nobody who they are" in answer["body"]
        assert status(Function(lambda: neve), event("", "/health", "GET")) == 200
    with open_neve(tmp_path, open_function=True) as neve:
        assert status(Function(lambda: neve), event(QUERY)) == 200


def test_whoever_asks_too_often_or_guesses_is_stopped_without_filling_the_log(neve, secret):
    callers = Callers(neve, clock=lambda: 0.0)
    callers._requests._per_minute = 2
    known = Event(event(QUERY, headers={"Authorization": bearer(secret)}))
    for _ in range(2):
        callers.caller(known, Notes())
    notes = Notes()
    with pytest.raises(TooMuch) as caught:
        callers.caller(known, notes)
    assert (notes.is_kept, caught.value.retry_after_seconds) == (False, 30)

    callers._failures._per_minute = 1
    here, there = (
        Event(event(QUERY, requestContext={"identity": {"sourceIp": ip}})) for ip in ("1.1", "2.2")
    )
    for sent, error in ((here, NotAuthenticated), (here, TooMuch), (there, NotAuthenticated)):
        with pytest.raises(error):
            callers.caller(sent, Notes())


def test_events_that_are_no_requests_are_rows_of_the_log_too(function, neve):
    for sent in (None, [], "x", {}):
        before = neve.access.verify_audit()[0].number
        answer = function(sent)
        row = neve.access.audit_rows(limit=1)[0]
        assert row.number == before + 1
        assert (row.entry.outcome, row.entry.who) == (str(answer["statusCode"]), "nobody")


def test_what_cannot_be_written_down_is_not_answered_as_done(neve, secret, monkeypatch):
    def fail(*_, **__):
        raise StoreError("The state is full.")

    monkeypatch.setattr(neve.access, "record", fail)
    answer = Function(lambda: neve)(event(QUERY, headers={"Authorization": bearer(secret)}))
    assert answer["statusCode"] == 503


@pytest.mark.promise(53)
def test_a_write_that_was_made_and_not_written_down_is_not_asked_for_again(
    neve, secret, monkeypatch
):
    fields = {"name": {"type": "string"}}
    table = {**PLACE, "table": "unwritten"}
    neve.database.create_table(
        REQUEST.validate_python(
            {"operation": "CREATE_TABLE", **table, "schema": {"fields": fields}}
        )
    )

    def fail(*_, **__):
        raise StoreError("The state is full.")

    body = {"operation": "WRITE", **table, "records": [{"name": "a"}]}
    with monkeypatch.context() as patched:
        patched.setattr(neve.access, "record", fail)
        answer = Function(lambda: neve)(event(body, headers={"Authorization": bearer(secret)}))
    found = neve.database.query(REQUEST.validate_python({**QUERY, **table, "sql": None}))
    assert found.row_count == 1
    assert answer["statusCode"] == 500
    assert json.loads(answer["body"])["type"] == "urn:neve:problem:not-written-down"

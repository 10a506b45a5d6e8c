"""Tokens, checked against a real issuer on loopback."""

from __future__ import annotations

import base64
import hmac
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from joserfc.jwk import OctKey, RSAKey
from pydantic import ValidationError
from tests.edges.access.issuer import KEY, SECOND, running_issuer

from neve.access.rights import Grant, Role
from neve.access_settings import OidcSettings
from neve.identity.issuer_keys import IssuerKeys, Patience
from neve.identity.tokens import Tokens
from neve.model.errors import EnvironmentProblem, NotAuthenticated
from neve.testing.facts import NOW

pytestmark = pytest.mark.promise(58)
SECONDS = int(NOW.timestamp())


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def issuer():
    with running_issuer() as found:
        yield found


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make_tokens(issuer, clock):
    def make(**more):
        roles = {"ops": [{"role": "operator", "tables": ["lake.acme"], "purge": True}]}
        said = {"issuer": issuer.issuer, "audience": "neve", "tenant_claim": "org", "roles": roles}
        settings = OidcSettings(**{**said, "all_tenants_roles": ["platform"], **more})
        keys = IssuerKeys(settings.issuer, settings.jwks_url, patience=Patience(), clock=clock)
        return Tokens(settings, lambda: NOW, keys)

    return make


@pytest.fixture
def tokens(make_tokens):
    return make_tokens()


@pytest.fixture
def claims(issuer):
    return {
        "iss": issuer.issuer,
        "aud": "neve",
        "sub": "ann",
        "org": "acme",
        "roles": ["ops", "unknown"],
        "exp": SECONDS + 60,
    }


def test_a_good_token_says_who_and_what(tokens, issuer, claims):
    caller = tokens.caller(issuer.token(claims))
    assert (caller.name, caller.person, caller.tenant) == ("user:ann", "ann", "acme")
    assert caller.grants == (Grant(Role.OPERATOR, "lake.acme", purge=True),)
    assert not caller.all_tenants
    assert tokens.caller(issuer.token({**claims, "roles": "platform"})).all_tenants
    assert tokens.caller(issuer.token({**claims, "aud": ["x", "neve"]})).name == "user:ann"
    del claims["roles"]
    assert tokens.caller(issuer.token(claims)).grants == ()
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def unsigned(claims, alg):
    return f"{part({'alg': alg, 'kid': 'k1'})}.{part(claims)}."


def with_public_key_as_secret(claims):
    """What a server takes that lets the token choose how it is checked."""
    signed = f"{part({'alg': 'HS256', 'kid': 'k1'})}.{part(claims)}"
    mac = hmac.digest(KEY.as_pem(private=False), signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


@pytest.mark.parametrize("alg", ["none", "None", "NONE", "", "HS256", "RS256"])
def test_a_token_without_a_signature_is_refused(tokens, claims, alg):
    with pytest.raises(NotAuthenticated):
        tokens.caller(unsigned(claims, alg))


def test_the_public_key_is_no_secret(tokens, claims):
    with pytest.raises(NotAuthenticated):
        tokens.caller(with_public_key_as_secret(claims))


CHANGES = {
    "expired": {"exp": SECONDS - 31},
    "without an end": {"exp": None},
    "an end that is no number": {"exp": "tomorrow"},
    "not yet": {"nbf": SECONDS + 31},
    "another audience": {"aud": "other"},
    "without an audience": {"aud": None},
    "another issuer": {"iss": "https://issuer.example.com"},
    "nobody": {"sub": None},
    "an empty name": {"sub": ""},
    "a name with a line in it": {"sub": "ann\nadmin"},
    "a name that is no text": {"sub": 5},
    "a long name": {"sub": "x" * 1000},
    "no tenant": {"org": None},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_claims_that_do_not_fit_are_refused(tokens, issuer, claims, change):
    changed = {k: v for k, v in {**claims, **change}.items() if v is not None}
    with pytest.raises(NotAuthenticated):
        tokens.caller(issuer.token(changed))


def test_clocks_may_differ_a_little(tokens, issuer, claims):
    tokens.caller(issuer.token({**claims, "exp": SECONDS - 20, "nbf": SECONDS + 20}))


@pytest.mark.parametrize(
    "key_id", ["k3", "../../etc/passwd", "http://127.0.0.1/k", "k1/../k1", "", "K1", "x" * 3000]
)
def test_an_unknown_key_is_looked_up_in_the_list_alone(tokens, issuer, claims, key_id):
    tokens.caller(issuer.token(claims))
    asked = list(issuer.asked)
    with pytest.raises(NotAuthenticated):
        tokens.caller(issuer.token(claims, kid=key_id))
    assert issuer.asked == asked


@pytest.mark.parametrize("name", ["jku", "x5u", "jwk", "x5c"])
def test_a_token_does_not_bring_its_own_key(tokens, issuer, claims, name):
    other = RSAKey.generate_key(2048, {"kid": "k1"}, private=True)
    values = {"jwk": other.as_dict(private=False), "x5c": ["AA=="]}
    header = {name: values.get(name, f"{issuer.issuer}/keys")}
    with pytest.raises(NotAuthenticated):
        tokens.caller(issuer.token(claims, key=other, **header))
    with pytest.raises(NotAuthenticated):
        tokens.caller(issuer.token(claims, **header))


def test_another_key_of_the_same_id_is_refused(tokens, issuer, claims):
    other = RSAKey.generate_key(2048, {"kid": "k1"}, private=True)
    with pytest.raises(NotAuthenticated):
        tokens.caller(issuer.token(claims, key=other))


@pytest.mark.parametrize("text", [
    "a.b.c", "..", "." * 50, f"{part([])}.{part({})}.x", "ä.b.c", "x" * 9000 + ".b.c",
    f"{base64.urlsafe_b64encode(b'[' * 5000).decode()}.{part({})}.x", "\x00.\x00.\x00",
])  # fmt: skip
def test_what_is_no_token_is_refused(tokens, text):
    with pytest.raises(NotAuthenticated):
        tokens.caller(text)


@pytest.mark.parametrize(
    "header", [["alg"], ["alg", "kid"], "alg", "alg and b64", ["alg", "b64"], 5, None, {"alg": []}]
)
def test_a_header_that_is_no_object_is_refused(tokens, claims, header):
    with pytest.raises(NotAuthenticated):
        tokens.caller(f"{part(header)}.{part(claims)}.AAAA")


def test_an_algorithm_that_is_not_configured_is_refused(make_tokens, issuer, claims):
    issuer.keys.append(SECOND.as_dict(private=False))
    signed = issuer.token(claims, SECOND, kid="k2", alg="ES256")
    assert make_tokens().caller(signed).person == "ann"
    with pytest.raises(NotAuthenticated):
        make_tokens(algorithms=["RS256"]).caller(signed)


@pytest.mark.parametrize("algorithm", ["none", "HS256", "HS512", "dir", ""])
def test_shared_secrets_cannot_be_configured(make_tokens, algorithm):
    with pytest.raises(ValidationError):
        make_tokens(algorithms=[algorithm])


@pytest.mark.parametrize(
    "url", ["http://issuer.example.com", "ftp://x", "http://127.0.0.1@evil.example", "file:///etc"]
)
def test_keys_are_read_over_tls_or_from_this_machine(make_tokens, url):
    for name in ("issuer", "jwks_url"):
        with pytest.raises(ValidationError):
            make_tokens(**{name: url})


def test_a_new_key_is_found_and_the_issuer_is_not_asked_often(tokens, issuer, claims, clock):
    tokens.caller(issuer.token(claims))
    issuer.keys.append(SECOND.as_dict(private=False))
    signed = issuer.token(claims, SECOND, kid="k2", alg="ES256")
    with pytest.raises(NotAuthenticated):
        tokens.caller(signed)
    clock.now += 31
    asked = len(issuer.asked)
    for _ in range(20):
        with pytest.raises(NotAuthenticated):
            tokens.caller(issuer.token(claims, kid="nope"))
    assert tokens.caller(signed).person == "ann"
    assert len(issuer.asked) == asked + 2


def test_a_key_that_was_taken_back_is_refused_after_a_while(tokens, issuer, claims, clock):
    tokens.caller(issuer.token(claims))
    issuer.keys = [SECOND.as_dict(private=False)]
    clock.now += 601
    with pytest.raises(NotAuthenticated):
        tokens.caller(issuer.token(claims))


def test_an_issuer_that_is_away_does_not_lock_everybody_out(tokens, issuer, claims, clock):
    tokens.caller(issuer.token(claims))
    issuer.status = 500
    clock.now += 3600
    assert tokens.caller(issuer.token(claims)).person == "ann"
    clock.now += 25 * 3600
    with pytest.raises(EnvironmentProblem, match="no token can be checked"):
        tokens.caller(issuer.token(claims))
    # Asked a moment ago: it is not asked again, and nobody is let in.
    with pytest.raises(EnvironmentProblem):
        tokens.caller(issuer.token(claims))


def test_an_issuer_that_hangs_keeps_nobody_waiting_whose_key_is_known(
    tokens, issuer, claims, clock, monkeypatch
):
    """Whoever sends a token of a made-up key has it asked, and needs no key for that."""
    good, made_up = issuer.token(claims), issuer.token(claims, kid="nope")
    tokens.caller(good)
    clock.now += 31
    asked, goes_on = threading.Event(), threading.Event()

    def hang(*_):
        asked.set()
        assert goes_on.wait(20)
        raise ValueError("It hung.")

    def refused():
        with pytest.raises(NotAuthenticated):
            tokens.caller(made_up)

    monkeypatch.setattr("neve.identity.issuer_keys._read", hang)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(refused)
        try:
            assert asked.wait(20)
            assert tokens.caller(good).person == "ann"
            refused()
        finally:
            goes_on.set()
        first.result()


@pytest.mark.parametrize("status", [302, 404, 500])
def test_an_issuer_without_keys_lets_nobody_in(tokens, issuer, claims, status):
    issuer.status = status
    with pytest.raises(EnvironmentProblem):
        tokens.caller(issuer.token(claims))
    assert not any("elsewhere" in path for path in issuer.asked)


def test_a_description_of_another_issuer_is_not_believed(tokens, issuer, claims):
    token, issuer.jwks_url = issuer.token(claims), "http://keys.example.com/keys"
    with pytest.raises(EnvironmentProblem):
        tokens.caller(token)


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_secrets_and_weak_keys_in_the_list_are_passed_over(tokens, issuer, claims):
    weak = RSAKey.generate_key(1024, {"kid": "weak"}, private=True)
    shared = OctKey.import_key("x" * 40, {"kid": "oct"})
    encrypting = {**KEY.as_dict(private=False), "kid": "enc", "use": "enc"}
    private = {**KEY.as_dict(private=True), "kid": "private"}
    lists = [weak.as_dict(private=False), shared.as_dict(private=True), encrypting, private]
    issuer.keys = [*lists, {"kid": "x"}, {}, None, *issuer.keys]
    assert tokens.caller(issuer.token(claims)).person == "ann"
    for key, key_id in ((weak, "weak"), (KEY, "enc"), (KEY, "private")):
        with pytest.raises(NotAuthenticated):
            tokens.caller(issuer.token(claims, key, kid=key_id))

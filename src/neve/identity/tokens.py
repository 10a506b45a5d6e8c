"""Whether a token is good, and whose it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from joserfc import jws, jwt
from joserfc.errors import ExpiredTokenError, JoseError

from neve.access.rights import Caller
from neve.access_settings import OidcSettings
from neve.identity.issuer_keys import IssuerKeys
from neve.model.errors import NotAuthenticated

MAX_TOKEN_CHARACTERS = 8192
MAX_NAME_CHARACTERS = 200


class Tokens:
    """Checks tokens of one issuer for one audience."""

    def __init__(
        self,
        settings: OidcSettings,
        now: Callable[[], datetime],
        keys: IssuerKeys | None = None,
    ) -> None:
        self._settings, self._now = settings, now
        self._keys = keys or IssuerKeys(settings.issuer, settings.jwks_url)

    def caller(self, token: str) -> Caller:
        """Who holds the token, or NotAuthenticated. What is wrong with a bad one is not told."""
        try:
            return self._caller(self._claims(token))
        except ExpiredTokenError:
            raise NotAuthenticated(
                "The token has expired.", next_step="Ask the issuer for another one."
            ) from None
        except (JoseError, ValueError, RecursionError):
            raise bad_token() from None

    def _claims(self, token: str) -> Mapping[str, Any]:
        if len(token) > MAX_TOKEN_CHARACTERS or not token.isascii():
            raise bad_token()
        header = _header(token)
        key_id, algorithm = header.get("kid"), header.get("alg")
        # What else a header may ask for (jku, x5u, jwk, crit) would let it choose its own key.
        is_plain = set(header) <= {"alg", "kid", "typ", "x5t", "x5t#S256"}
        if not is_plain or algorithm not in self._settings.algorithms:
            raise bad_token()
        key = self._keys.key(key_id) if isinstance(key_id, str) else None
        if key is None:
            raise bad_token()
        claims = jwt.decode(token, key, algorithms=list(self._settings.algorithms)).claims
        self._rules().validate(claims)
        return claims

    def _rules(self) -> jwt.JWTClaimsRegistry:
        settings = self._settings
        return jwt.JWTClaimsRegistry(
            now=int(self._now().timestamp()),
            leeway=settings.leeway_seconds,
            iss={"essential": True, "value": settings.issuer},
            aud={"essential": True, "value": settings.audience},
            exp={"essential": True},
        )

    def _caller(self, claims: Mapping[str, Any]) -> Caller:
        settings = self._settings
        name = _text(claims, settings.name_claim)
        tenant = _text(claims, settings.tenant_claim) if settings.tenant_claim else ""
        roles = claims.get(settings.roles_claim, [])
        if not isinstance(roles, list):
            roles = [roles]
        held = [role for role in roles if isinstance(role, str)]
        grants = [
            g for role in held for part in settings.roles.get(role, ()) for g in part.grants()
        ]
        is_everywhere = any(role in settings.all_tenants_roles for role in held)
        return Caller(f"user:{name}", tuple(grants), tenant, is_everywhere, name)


def _header(token: str) -> Mapping[str, Any]:
    try:
        header: object = jws.extract_compact(token.encode()).headers()
    except (TypeError, AttributeError):
        # A list or a text, which the library takes apart as if it were an object.
        raise bad_token() from None
    if not isinstance(header, dict):
        raise bad_token()
    return header


def _text(claims: Mapping[str, Any], claim: str) -> str:
    found = claims.get(claim)
    if not isinstance(found, str) or not 0 < len(found) <= MAX_NAME_CHARACTERS:
        raise bad_token()
    if not found.isprintable():
        raise bad_token()
    return found


def bad_token() -> NotAuthenticated:
    return NotAuthenticated(
        "The key or token is not accepted.",
        next_step="Send Authorization: Bearer with a key that is neither revoked nor expired.",
    )

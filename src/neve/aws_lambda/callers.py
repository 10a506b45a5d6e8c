"""Who sends an event: settled before a byte of its body is read."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from neve.access import rates
from neve.access.credentials import LOCAL_NAME, bearer_of, names_a_key
from neve.access.rates import RateLimit, take
from neve.access.rights import LOCAL, Caller
from neve.aws_lambda.events import Event
from neve.guarding import Notes
from neve.model.errors import ConfigError, InputError, NotAuthenticated
from neve.neve import Neve

#: Set wherever the platform, or what stands for it, runs the function.
PLATFORM = "AWS_LAMBDA_RUNTIME_API"


class Callers:
    """Knows callers by keys and tokens, as a server does."""

    def __init__(
        self,
        neve: Neve,
        environ: Mapping[str, str] = os.environ,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._neve, self._environ = neve, environ
        self._requests = RateLimit(neve.access.settings.requests_per_minute, clock)
        self._failures = RateLimit(rates.FAILURES_PER_MINUTE, clock)

    def caller(self, event: Event, notes: Notes) -> Caller:
        """Whose event it is; whoever is not known, or asks too often, is refused."""
        if names_a_key(event.parameters()):
            take(self._failures, event.source, notes)
            raise InputError(
                "A key must not stand in an address.",
                next_step="Send it as Authorization: Bearer, and revoke it: addresses are logged.",
            )
        access = self._neve.access
        if not access.settings.enabled:
            self._require_local()
            return _noted(LOCAL, notes)
        try:
            caller = access.authenticate(bearer_of(event.headers("authorization")))
        except NotAuthenticated:
            take(self._failures, event.source, notes)
            raise
        _noted(caller, notes)
        take(self._requests, caller.name, notes)
        return caller

    def _require_local(self) -> None:
        """A function that others can call asks them who they are, unless somebody chose it not to.

        On a machine of one's own it is as a server that listens on loopback.
        """
        if PLATFORM in self._environ and not self._neve.database_is_open:
            raise ConfigError(
                "This function asks nobody who they are, and is not on a machine of its own.",
                next_step="Set access.enabled and make keys (neve keys create), or say "
                "database.open_function where the platform itself lets in none but those who may.",
            )


def _noted(caller: Caller, notes: Notes) -> Caller:
    notes.who, notes.tenant = caller.name or LOCAL_NAME, caller.tenant
    return caller

"""Channels by name, each an address as apprise takes it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

from neve.model.errors import NotificationError
from neve.model.notices import Notice, NoticeKind
from neve.secrets import hide_secrets

INSTALL = "Install it: pip install 'neve[notify]'"
#: Apprise's kinds of messages.
KINDS = {NoticeKind.FAILURE: "failure", NoticeKind.RECOVERY: "success", NoticeKind.DIGEST: "info"}
MAX_REASON = 300
#: Time-outs of single reads are apprise's; a receiver that answers byte by byte knows no end.
PATIENCE_SECONDS = 20.0


class Channels:
    """Sends notices to addresses; no address and no secret is in a message or an error."""

    def __init__(
        self,
        addresses: Mapping[str, str],
        secrets: Collection[str] = (),
        *,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self._addresses = dict(addresses)
        self._secrets = secrets
        self._patience_seconds = patience_seconds

    def send(self, channel: str, notice: Notice) -> None:
        """Deliver it, or raise NotificationError, within a time that no receiver can stretch."""
        if channel not in self._addresses:
            raise NotificationError(
                "no such channel is configured.",
                next_step="Name it under notifications.channels.",
            )
        apprise = _apprise()
        # With its own time-out it would deliver in threads that a process waits for at its end.
        sender = apprise.Apprise(asset=apprise.AppriseAsset(service_timeout=0))
        if not sender.add(self._addresses[channel]):
            raise NotificationError(
                "its address cannot be used.",
                next_step="Write it as apprise knows it, for example mailto:// or slack://.",
            )

        def deliver() -> bool:
            delivered: bool = sender.notify(
                title=self._clean(notice.title),
                body=self._clean(notice.body),
                notify_type=KINDS[notice.kind],
                body_format=apprise.NotifyFormat.TEXT,
            )
            return delivered

        sending = Sending(deliver)
        if not sending.is_delivered(self._patience_seconds):
            raise NotificationError(self._clean(sending.reason)[:MAX_REASON])

    def _clean(self, text: str) -> str:
        return hide_secrets(text, self._secrets)


class Sending(logging.Handler):
    """One delivery in a thread of its own, and what apprise logs about it and no other."""

    def __init__(self, deliver: Callable[[], bool]) -> None:
        super().__init__(logging.WARNING)
        self._deliver = deliver
        self._said: list[str] = []
        self._is_delivered = False
        self._thread = threading.Thread(target=self._work, name="neve-notice", daemon=True)

    def is_delivered(self, seconds: float) -> bool:
        """Whether it was within this time; a delivery that takes longer is left to itself."""
        self._thread.start()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._said.append(f"it was not delivered within {seconds:g} seconds.")
            return False
        return self._is_delivered

    @property
    def reason(self) -> str:
        return " ".join(" ".join(self._said).split()) or "it was not delivered."

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread.ident:
            self._said.append(record.getMessage())

    def _work(self) -> None:
        log = logging.getLogger("apprise")
        log.addHandler(self)
        try:
            self._is_delivered = self._deliver()
        finally:
            log.removeHandler(self)


def _apprise() -> Any:
    # It is an extra, and takes a while to import.
    try:
        import apprise
    except ImportError as error:
        raise NotificationError("apprise is not installed.", next_step=INSTALL) from error
    return apprise

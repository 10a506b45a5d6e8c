"""Channels by name, each an address as apprise takes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from neve.model.errors import NotificationError
from neve.model.notices import Notice, NoticeKind
from neve.secrets import hide_secrets

INSTALL = "Install it: pip install 'neve[notify]'"
#: Apprise's kinds of messages.
KINDS = {NoticeKind.FAILURE: "failure", NoticeKind.RECOVERY: "success", NoticeKind.DIGEST: "info"}
MAX_REASON = 300


class Channels:
    """Sends notices to addresses; no address and no secret is in a message or an error."""

    def __init__(self, addresses: Mapping[str, str], secrets: Collection[str] = ()) -> None:
        self._addresses = dict(addresses)
        self._secrets = secrets

    def send(self, channel: str, notice: Notice) -> None:
        """Deliver it, or raise NotificationError."""
        if channel not in self._addresses:
            raise NotificationError(
                "no such channel is configured.",
                next_step="Name it under notifications.channels.",
            )
        apprise = _apprise()
        sender = apprise.Apprise()
        if not sender.add(self._addresses[channel]):
            raise NotificationError(
                "its address cannot be used.",
                next_step="Write it as apprise knows it, for example mailto:// or slack://.",
            )
        with apprise.LogCapture(level=apprise.logging.WARNING, fmt="%(message)s") as said:
            delivered = sender.notify(
                title=self._clean(notice.title),
                body=self._clean(notice.body),
                notify_type=KINDS[notice.kind],
                body_format=apprise.NotifyFormat.TEXT,
            )
            if not delivered:
                reason = " ".join(said.getvalue().split()) or "it was not delivered."
                raise NotificationError(self._clean(reason)[:MAX_REASON])

    def _clean(self, text: str) -> str:
        return hide_secrets(text, self._secrets)


def _apprise() -> Any:
    # It is an extra, and takes a while to import.
    try:
        import apprise
    except ImportError as error:
        raise NotificationError("apprise is not installed.", next_step=INSTALL) from error
    return apprise

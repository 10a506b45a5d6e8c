"""Notices reach real servers on loopback, and errors hold no address."""

from __future__ import annotations

import sys
from email import message_from_bytes

import pytest

from neve.model.errors import NotificationError
from neve.model.notices import Notice, NoticeKind
from neve.notify.channels import Channels

#: Apprise imports modules of Python that are about to go.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
NOTICE = Notice(NoticeKind.FAILURE, "Neve: it <failed>", "Line 1 & more\nlake.db.events → nothing")


def test_a_web_server_gets_title_text_and_kind(hook):
    Channels({"ops": hook.url}).send("ops", NOTICE)

    (received,) = hook.received
    assert (received["title"], received["message"]) == (NOTICE.title, NOTICE.body)
    assert received["type"] == "failure"


def test_a_mail_server_gets_a_mail(mails):
    Channels({"mail": mails.url}).send("mail", NOTICE)

    (envelope,) = mails.received
    mail = message_from_bytes(envelope.content)
    parts = [part for part in mail.walk() if part.get_content_type() == "text/plain"]
    text = (parts or [mail])[0].get_payload(decode=True).decode()
    assert envelope.rcpt_tos == ["ops@example.com"]
    assert "Neve: it" in str(mail["Subject"])
    assert "lake.db.events → nothing" in text


@pytest.mark.parametrize("status", [404, 500])
def test_a_refusal_is_an_error_without_the_address(hook, status):
    hook.status = status
    address = hook.url.replace("/hook", "/tok3nSECRET99")

    with pytest.raises(NotificationError) as error:
        Channels({"ops": address}, ["tok3nSECRET99"]).send("ops", NOTICE)

    assert "tok3nSECRET99" not in error.value.message


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        ({}, "no such channel"),
        ({"ops": "nonsense://x"}, "address cannot be used"),
        ({"ops": "json://127.0.0.1:1/x"}, "Connection error"),
    ],
)
def test_what_cannot_be_delivered_is_an_error(addresses, message):
    with pytest.raises(NotificationError, match=message):
        Channels(addresses).send("ops", NOTICE)


def test_secrets_are_in_no_notice(hook):
    notice = Notice(NoticeKind.FAILURE, "t", "s3://key:topsecret@bucket said topsecret")

    Channels({"ops": hook.url}, ["topsecret"]).send("ops", notice)

    assert "topsecret" not in hook.received[0]["message"]


def test_without_apprise_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "apprise", None)

    with pytest.raises(NotificationError, match="not installed") as error:
        Channels({"ops": "json://x"}).send("ops", NOTICE)

    assert "neve[notify]" in error.value.next_step

"""Notices reach real servers on loopback, and errors hold no address."""

from __future__ import annotations

import socket
import sys
import threading
from contextlib import contextmanager, suppress
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


@contextmanager
def dripping():
    """A server that answers a byte now and then, and never comes to an end."""
    stop, listener = threading.Event(), socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)

    def answer():
        try:
            asked, _ = listener.accept()
        except TimeoutError:
            return
        with asked, suppress(OSError):
            asked.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not stop.wait(0.01):
                asked.sendall(b"a")

    def serve():
        while not stop.is_set():
            answer()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"json://127.0.0.1:{listener.getsockname()[1]}/hook"
    finally:
        stop.set()
        thread.join()
        listener.close()
        for left in [t for t in threading.enumerate() if t.name == "neve-notice"]:
            left.join(20)


@pytest.mark.promise(49)
def test_a_receiver_that_never_comes_to_an_end_keeps_nobody(hook):
    with dripping() as address:
        before = set(threading.enumerate())
        slowly = Channels({"slow": address}, patience_seconds=0.3)
        with pytest.raises(NotificationError, match=r"not delivered within 0\.3 seconds") as slow:
            slowly.send("slow", NOTICE)
        left = set(threading.enumerate()) - before
        # Beside the one that hangs, with as much time as a busy machine needs.
        channels = Channels({"ops": hook.url})
        channels.send("ops", NOTICE)
        hook.status = 500
        with pytest.raises(NotificationError) as refused:
            channels.send("ops", NOTICE)

    # No end of the process waits for it.
    assert [(thread.name, thread.daemon) for thread in left] == [("neve-notice", True)]
    assert hook.titles == [NOTICE.title]
    assert "127.0.0.1" not in slow.value.message
    # What apprise says about one is not said of the other.
    assert "within" not in refused.value.message
    assert refused.value.message.count("JSON") == 1

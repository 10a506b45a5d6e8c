"""What a JVM that dies leaves behind in this process."""

from __future__ import annotations

import socket
import socketserver

import pytest

from neve.spark.jvm import keep_accumulators_quiet


@pytest.mark.parametrize(
    ("error", "is_written"),
    [(EOFError(), False), (ConnectionResetError(), False), (ValueError("a defect"), True)],
)
def test_only_what_is_not_the_end_of_the_jvm_is_written(error, is_written, capfd):
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            raise error

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        keep_accumulators_quiet(server)
        with socket.create_connection(server.server_address):
            server.handle_request()

    assert ("Traceback" in capfd.readouterr().err) is is_written

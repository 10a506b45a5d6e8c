"""What a server listens on hands its answers over at once."""

from __future__ import annotations

import socket

from neve.serve_address import listening


def test_connections_do_not_wait_for_acknowledgements():
    with (
        listening("127.0.0.1", 0) as bound,
        socket.create_connection(bound.getsockname()),
    ):
        connection, _ = bound.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

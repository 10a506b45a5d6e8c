"""A way to a server on which answers get lost: what was asked has happened by then."""

from __future__ import annotations

import socket
import threading

HOST = "127.0.0.1"


class CuttingProxy:
    """Forwards connections to a port, and cuts them at the next `cuts` answers of scripts."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server((HOST, 0))
        self.cuts = 0
        self.was_cut = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self._listener.getsockname()[1]}/0"

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection((HOST, self._target))
            for one, other, is_answer in ((client, server, False), (server, client, True)):
                forward = threading.Thread(
                    target=self._forward, args=(one, other, is_answer), daemon=True
                )
                forward.start()

    def _forward(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with source, target:
            while data := _receive(source):
                # Lists are answers of scripts that ran; greetings and refusals pass.
                if is_answer and self.cuts > 0 and data.startswith(b"*"):
                    self.cuts -= 1
                    self.was_cut += 1
                    break
                try:
                    target.sendall(data)
                except OSError:
                    break
            for end in (source, target):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue


def _receive(source: socket.socket) -> bytes:
    try:
        return source.recv(65536)
    except OSError:
        return b""

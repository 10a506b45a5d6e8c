"""The process that a server starts: it imports what queries need, and forks once for each.

Nobody's rows are in the process that forks, and each query has one of its own, so that no query
meets what another one left behind.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import time
from collections.abc import Callable

from neve.apart.confined import confine
from neve.apart.messages import (
    LENGTH,
    MessageLost,
    QueryTask,
    error_message,
    receive,
    result_message,
    send,
)
from neve.catalog.scanning import read_rows
from neve.catalog.travelling import import_readers, table_of
from neve.documents import from_text, to_text
from neve.model.database import QueryLimits
from neve.model.errors import NeveError, QueryLimit
from neve.model.sizes import format_size
from neve.query.duck import DuckQueries

#: A descriptor of the connection to the server.
DOOR = 0


def answer(task: QueryTask) -> bytes:
    """What comes of the query, as a message."""
    ends_at, limits = time.monotonic() + task.seconds, task.limits

    def deadline() -> None:
        if time.monotonic() > ends_at:
            raise QueryLimit(f"The query took longer than {limits.max_seconds:g} seconds.")

    try:
        relations = {
            name: read_rows(r.source.table, table_of(r.source), r.wanted, limits, deadline)
            for name, r in task.relations.items()
        }
        left = ends_at - time.monotonic()
        return result_message(DuckQueries().run(task.statement, relations, limits, left))
    except NeveError as error:
        return error_message(error)
    except MemoryError:
        return error_message(
            QueryLimit(f"The query needs more than {format_size(limits.memory_bytes)} of memory.")
        )


def main(answer: Callable[[QueryTask], bytes] = answer) -> None:
    """Fork for everybody who knocks, until the server goes away."""
    import_readers()
    # What reads tasks is made when it is first needed: not by every fork.
    from_text(QueryTask, to_text(QueryTask("", {}, QueryLimits(), 0.0)))
    # Nobody waits for those who ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=DOOR) as door:
        while True:
            _, descriptors, _, _ = socket.recv_fds(door, 1, 1)
            if not descriptors:
                return
            with socket.socket(fileno=descriptors[0]) as connection:
                pid = os.fork()
                if pid == 0:
                    door.close()
                    _serve(connection, answer)
                connection.sendall(LENGTH.pack(pid))


def _serve(connection: socket.socket, answer: Callable[[QueryTask], bytes]) -> None:
    """Answer one query and end, without what Python does when it ends by itself."""
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # It does not live long enough for it.
        gc.disable()
        task = from_text(QueryTask, receive(connection).decode())
        confine(task.limits, task.seconds)
        send(connection, answer(task))
        code = 0
    except (MessageLost, OSError, MemoryError):
        # The server hears that this process ended.
        pass
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
    # What libraries say of their own ends would go to the server's log, which may be gone by now.
    os._exit(0)

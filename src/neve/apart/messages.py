"""What a server and the process of a query say to each other: lengths, and JSON.

Nothing that comes back is code: whoever took over a process that reads files of strangers could
otherwise take over the server, too.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from socket import socket
from typing import Any

from neve.model import errors
from neve.model.database import Column, QueryLimits, QueryResult
from neve.model.problem_kinds import BY_NAME, kind_of
from neve.model.query import QueryRelation

LENGTH = struct.Struct("!Q")
#: A metadata file, or an answer, takes less.
MAX_MESSAGE_BYTES = 1024 * 1024 * 1024
#: What a query may end with. The process is not believed about anything else.
ENDS = (errors.QueryLimit, errors.QueryRefused, errors.CatalogError, errors.TableDamaged)


@dataclass(frozen=True, slots=True)
class QueryTask:
    """All that a process needs for one query."""

    statement: str
    relations: Mapping[str, QueryRelation]
    limits: QueryLimits
    seconds: float


class MessageLost(Exception):
    """The other side ended, or said what is none of the messages."""


def send(connection: socket, message: bytes) -> None:
    connection.sendall(LENGTH.pack(len(message)) + message)


def receive(connection: socket, max_bytes: int = MAX_MESSAGE_BYTES) -> bytes:
    (length,) = LENGTH.unpack(read_exactly(connection, LENGTH.size))
    if length > max_bytes:
        raise MessageLost(f"{length} bytes are more than a message may have")
    return read_exactly(connection, length)


def read_exactly(connection: socket, length: int) -> bytes:
    parts, missing = [], length
    while missing:
        part = connection.recv(min(missing, 1024 * 1024))
        if not part:
            raise MessageLost("the other side ended")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def result_message(result: QueryResult) -> bytes:
    columns = [[column.name, column.type] for column in result.columns]
    said = {"columns": columns, "rows": list(result.rows), "is_truncated": result.is_truncated}
    return json.dumps(said).encode()


def error_message(error: errors.NeveError) -> bytes:
    said = {"error": kind_of(error)[1], "message": error.message, "next_step": error.next_step}
    return json.dumps(said).encode()


def read_result(message: bytes) -> QueryResult:
    """The rows, or the error that the query ended with."""
    try:
        said = json.loads(message)
        if "error" in said:
            end = _end(said)
        else:
            columns = tuple(Column(str(name), str(kind)) for name, kind in said["columns"])
            rows = [dict(row) for row in said["rows"]]
            return QueryResult(columns, rows, bool(said["is_truncated"]))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise MessageLost("what came is no answer") from error
    raise end


def _end(said: Mapping[str, Any]) -> errors.NeveError:
    kind = BY_NAME[said["error"]]
    if not issubclass(kind, ENDS):
        raise MessageLost(f"a query does not end with {kind.__name__}")
    step = said["next_step"]
    return kind(str(said["message"]), next_step=None if step is None else str(step))

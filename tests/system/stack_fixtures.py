"""Fixtures over the running stack: its endpoints, a switch for its parts, a schema of one's own."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog

from neve.trino import MaintenanceSettings
from neve.trino.connect import connect, trino_errors

CHECKOUT = Path(__file__).resolve().parents[2]
PROGRAM = CHECKOUT / "tools" / "stack" / "stack.py"
#: A part that starts beside other work may take longer than people would wait.
PATIENT = {"NEVE_STACK_TIMEOUT": "600"}


@dataclass(frozen=True)
class RunningStack:
    """What stack.json says, and a way to take a part down for a while."""

    home: Path
    facts: dict[str, Any]

    @contextlib.contextmanager
    def without(self, part: str) -> Iterator[None]:
        """Stop a part, and start it again whatever happens."""
        self.command("down", part)
        try:
            yield
        finally:
            self.command("up", part)

    def command(self, *arguments: str) -> None:
        environment = {**PATIENT, **os.environ, "NEVE_STACK_HOME": str(self.home)}
        command = [sys.executable, str(PROGRAM), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@dataclass(frozen=True)
class Lake:
    """A schema of the test's own, and a cursor on it."""

    connection: Any
    cursor: Any
    schema: str

    @property
    def place(self) -> dict[str, str]:
        return {"catalog": "iceberg", "schema": self.schema}

    def settings(self, **others: Any) -> MaintenanceSettings:
        return MaintenanceSettings(catalog="iceberg", schema=self.schema, **others)

    def sql(self, statement: str) -> list[list[Any]]:
        self.cursor.execute(statement)
        rows: list[list[Any]] = self.cursor.fetchall()
        return rows

    def name(self, table: str) -> str:
        quoted = table.replace('"', '""')
        return f'iceberg."{self.schema}"."{quoted}"'

    def make_table(self, table: str, *, files: int = 3, location: str | None = None) -> None:
        """A table of one row and one small file per insert."""
        where = f" WITH (location = '{location}')" if location else ""
        self.sql(f"CREATE TABLE {self.name(table)} (id bigint, body varchar){where}")
        for number in range(files):
            self.sql(f"INSERT INTO {self.name(table)} VALUES ({number}, 'row {number}')")

    def rows(self, table: str) -> list[list[Any]]:
        return self.sql(f"SELECT * FROM {self.name(table)} ORDER BY 1, 2")

    def log(self, columns: str = "table_name, operation, status") -> list[list[Any]]:
        return self.sql(
            f"SELECT {columns} FROM {self.name('_maintenance_log')} ORDER BY executed_at"
        )

    def folder(self, table: str, stack: RunningStack) -> Path:
        """Where the storage keeps the table's files on this machine."""
        ((path,),) = self.sql(
            "SELECT regexp_extract(file, 's3://(.*)/metadata/', 1) FROM iceberg."
            f'"{self.schema}"."{table}$metadata_log_entries" ORDER BY timestamp DESC LIMIT 1'
        )
        return Path(stack.facts["s3"]["data_folder"], path)


@pytest.fixture(scope="session")
def stack() -> RunningStack:
    """The stack that `make stack-up` started."""
    default = Path(os.environ.get("NEVE_STACK_HOME", CHECKOUT / ".neve" / "stack")) / "stack.json"
    path = Path(os.environ.get("NEVE_STACK_JSON", default))
    try:
        # Facts outlive a part that somebody stopped.
        facts = {
            name: part
            for name, part in json.loads(path.read_text()).items()
            if path.with_name(f"{name}.pid").exists()
        }
        for part in facts.values():
            socket.create_connection(("127.0.0.1", part["port"]), timeout=5).close()
    except (OSError, ValueError) as error:
        pytest.fail(f"no stack answers ({error}): run make stack-up", pytrace=False)
    return RunningStack(path.parent, facts)


@pytest.fixture
def trino_connect(stack: RunningStack) -> Iterator[Callable[..., Any]]:
    """Opens connections to the stack's Trino, all closed at the end."""
    if "trino" not in stack.facts:
        pytest.fail("the stack runs without trino: run make stack-up", pytrace=False)
    facts = stack.facts["trino"]
    with contextlib.ExitStack() as opened:

        def open_connection(**options: Any) -> Any:
            given = {"host": facts["host"], "port": facts["port"], "user": facts["user"]} | options
            connection = connect(**given)
            opened.callback(connection.close)
            return connection

        yield open_connection


@pytest.fixture
def trino_connection(trino_connect: Callable[..., Any]) -> Any:
    return trino_connect()


def forget_tables(stack: RunningStack, schema: str) -> None:
    """Drop what is left of a schema in the catalog alone, which reads no metadata for that."""
    with load_catalog("left", type="rest", uri=stack.facts["rest"]["uri"]) as catalog:
        for table in catalog.list_tables(schema):
            catalog.drop_table(table)
        catalog.drop_namespace(schema)


@pytest.fixture
def lake(stack: RunningStack, trino_connection: Any) -> Iterator[Lake]:
    """A fresh schema, dropped afterwards with all that is in it."""
    own = Lake(trino_connection, trino_connection.cursor(), f"lake_{uuid.uuid4().hex[:12]}")
    own.sql(f'CREATE SCHEMA iceberg."{own.schema}"')
    yield own
    for (table,) in own.sql(f'SHOW TABLES IN iceberg."{own.schema}"'):
        # A test may have broken its table beyond Trino's dropping.
        with contextlib.suppress(*trino_errors()):
            own.sql(f"DROP TABLE {own.name(table)}")
    try:
        own.sql(f'DROP SCHEMA iceberg."{own.schema}"')
    except trino_errors():
        # A sweep of orphans asks where all tables live, and none may be broken.
        forget_tables(stack, own.schema)

"""A REST catalog that does as it should and answers as a script says.

Two addresses lead to the same tables: under `honest` every answer is true; under `scripted` commits
of snapshots are answered by the script, one act each, and truthfully when it has run out.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pydantic import TypeAdapter
from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, SortOrder
from pyiceberg.table.update import TableRequirement, TableUpdate, update_table_metadata

REQUIREMENTS = TypeAdapter(tuple[TableRequirement, ...])
UPDATES = TypeAdapter(tuple[TableUpdate, ...])
TABLE = re.compile(r"/v1/namespaces/([^/]+)/tables/([^/]+)")
NAMESPACE = re.compile(r"/v1/namespaces/([^/]+)")

NAMESPACE_OF_TESTS = "n"
#: Nobody interferes with the log of maintenance.
TABLE_OF_TESTS = re.compile(r".*/tables/t\d+")

Identifier = tuple[str, str]
Reply = tuple[int, dict[str, Any] | None]


@dataclass(frozen=True)
class Act:
    """What happens to one commit: whether it is applied, who comes next, and what is said."""

    status: int | None
    applies: bool = True
    retry_after: str | None = None
    #: Called before the answer, for example to let another writer in.
    meanwhile: Callable[[], object] = lambda: None
    #: The body's error code, where it is another than the status.
    code: int | None = None


@dataclass
class ScriptedCatalog:
    """Tables in memory, their files in a folder."""

    folder: Path
    tables: dict[Identifier, TableMetadata] = field(default_factory=dict)
    script: list[Act] = field(default_factory=list)
    #: Commits of snapshots that came under the scripted address, by their updates.
    commits: list[list[dict[str, Any]]] = field(default_factory=list)
    changing: threading.RLock = field(default_factory=threading.RLock)
    address: str = ""

    @property
    def scripted(self) -> str:
        return f"{self.address}/scripted"

    @property
    def honest(self) -> str:
        return f"{self.address}/honest"

    def answer(self, method: str, path: str, document: Any) -> Reply:
        """What a truthful catalog does and says."""
        if path == "/v1/config":
            return 200, {"defaults": {}, "overrides": {}}
        if path == "/v1/namespaces":
            return 200, document if method == "POST" else {"namespaces": [[NAMESPACE_OF_TESTS]]}
        if found := TABLE.fullmatch(path):
            return self._table(method, (unquote(found[1]), unquote(found[2])), document)
        if path.endswith("/tables") and method == "POST":
            return self._create(unquote(path.split("/")[3]), document)
        if path.endswith("/tables"):
            names = [{"namespace": [n], "name": t} for n, t in self.tables]
            return 200, {"identifiers": names}
        if found := NAMESPACE.fullmatch(path):
            return 200, {"namespace": [unquote(found[1])], "properties": {}}
        return 204 if path.endswith("/metrics") else 404, None

    def _table(self, method: str, name: Identifier, document: Any) -> Reply:
        if method == "POST":
            return self._commit(name, document)
        if name not in self.tables:
            return 404, error(404, "NoSuchTableException", "There is no such table.")
        return 200, self._loaded(name)

    def _create(self, namespace: str, wanted: dict[str, Any]) -> Reply:
        name = (namespace, wanted["name"])
        spec, order = wanted.get("partition-spec"), wanted.get("write-order")
        metadata = new_table_metadata(
            Schema.model_validate(wanted["schema"]),
            PartitionSpec.model_validate(spec) if spec else PartitionSpec(),
            SortOrder.model_validate(order) if order else UNSORTED_SORT_ORDER,
            wanted.get("location") or (self.folder / "/".join(name)).as_uri(),
            dict(wanted.get("properties") or {}),
        )
        if wanted.get("stage-create"):
            return 200, {"metadata": json.loads(metadata.model_dump_json())}
        self._keep(name, metadata)
        return 200, self._loaded(name)

    def _commit(self, name: Identifier, document: dict[str, Any]) -> Reply:
        with self.changing:
            metadata = self.tables.get(name)
            try:
                for requirement in REQUIREMENTS.validate_python(document["requirements"]):
                    requirement.validate(metadata)
            except CommitFailedException as conflict:
                return 409, error(409, "CommitFailedException", str(conflict))
            updates = UPDATES.validate_python(document["updates"])
            base = metadata or MetastoreCatalog._empty_table_metadata()
            self._keep(name, update_table_metadata(base, updates, metadata is None))
            return 200, self._loaded(name)

    def _keep(self, name: Identifier, metadata: TableMetadata) -> None:
        # Once around through JSON, as every client sees it.
        self.tables[name] = TableMetadataUtil.parse_raw(metadata.model_dump_json())

    def _loaded(self, name: Identifier) -> dict[str, Any]:
        metadata = self.tables[name]
        folder = metadata.location.removeprefix("file://").removeprefix("file:")
        file = Path(folder) / "metadata" / f"{metadata.last_updated_ms}.metadata.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(metadata.model_dump_json(), encoding="utf-8")
        return {
            "metadata-location": file.as_uri(),
            "metadata": json.loads(metadata.model_dump_json()),
        }


def error(code: int, kind: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "type": kind, "message": message}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    catalog: ScriptedCatalog

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        _, address, path = self.path.partition("?")[0].split("/", 2)
        document: Any = json.loads(body) if body else None
        is_ours = address == "scripted" and TABLE_OF_TESTS.fullmatch(path)
        if is_ours and self.command == "POST" and adds_snapshot(document):
            self.catalog.commits.append(document["updates"])
            if self.catalog.script:
                self._act(self.catalog.script.pop(0), f"/{path}", document)
                return
        self._say(*self.catalog.answer(self.command, f"/{path}", document))

    do_GET = do_HEAD = do_POST = do_DELETE = _handle

    def _act(self, act: Act, path: str, document: Any) -> None:
        if act.applies:
            status, said = self.catalog.answer("POST", path, document)
            assert status == 200, said
        act.meanwhile()
        if act.status is None:
            self.close_connection = True
            return
        said = error(act.code or act.status, "ScriptedException", f"Scripted {act.status}.")
        self._say(act.status, said, act.retry_after)

    def _say(self, status: int, document: Any, retry_after: str | None = None) -> None:
        body = b"" if document is None else json.dumps(document).encode()
        self.send_response_only(status)
        if retry_after is not None:
            self.send_header("Retry-After", retry_after)
        self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status != 204:
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def scripted_catalog(folder: Path) -> Iterator[ScriptedCatalog]:
    """The catalog, listening on loopback."""
    catalog = ScriptedCatalog(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"catalog": catalog}))
    server.daemon_threads = True
    catalog.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield catalog
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def adds_snapshot(document: Any) -> bool:
    updates = (document or {}).get("updates") or ()
    return any(update["action"] == "add-snapshot" for update in updates)

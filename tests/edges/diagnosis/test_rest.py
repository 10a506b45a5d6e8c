"""A REST catalog may answer for itself and not for a table, or serve metadata from memory."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from tests.edges.diagnosis.damage import codes, metadata_file, the

from neve.catalog.connect import Catalogs
from neve.catalog.inspect import CatalogInspector
from neve.model.errors import CatalogError
from neve.service.diagnose import Examination, diagnose
from neve.testing.lake import SilentReporter
from neve.testing.local_lake import Manifest

BROKEN = {"error": {"message": "metadata is lost", "type": "NotFound", "code": 500}}


class Server(ThreadingHTTPServer):
    """Answers by path; what it has no answer for is broken."""

    answers: dict[str, object]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        answer = self.server.answers.get(self.path.partition("?")[0])
        body = json.dumps(BROKEN if answer is None else answer).encode()
        self.send_response(500 if answer is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Tests print nothing."""


@pytest.fixture
def server():
    with Server(("127.0.0.1", 0), Handler) as made:
        made.answers = {"/v1/config": {"defaults": {}, "overrides": {}}}
        thread = threading.Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def look(server):
    uri = f"http://127.0.0.1:{server.server_port}"
    catalogs = Catalogs({"prod": {"type": "rest", "uri": uri, "token": "my-secret"}})

    def examine(**how):
        table = catalogs.parse("prod.db.events")
        how = Examination(**how)
        return diagnose(CatalogInspector(catalogs), None, table, how, SilentReporter())

    return examine


def test_a_catalog_that_cannot_load_the_table(server, look, lake, table, put):
    server.answers["/v1/namespaces"] = {"namespaces": [["db"]]}
    lake.commit(table, Manifest([put("a")]))

    blind = look()
    seeing = look(metadata_folder=str(metadata_file(table).parent))

    (evidence,) = the(blind, "metadata_unreadable").evidence
    assert "metadata is lost" in evidence
    assert "--metadata-folder" in the(blind, "metadata_unreadable").next_step
    assert seeing.recovery.recommended == str(metadata_file(table))
    assert seeing.recovery.python is None
    assert any("purgeRequested=false" in text for text in seeing.recovery.advice)
    assert "my-secret" not in repr((blind, seeing))


def test_a_catalog_that_is_down_is_no_diagnosis(look):
    with pytest.raises(CatalogError):
        look()


def test_metadata_that_is_only_in_the_memory_of_the_catalog(server, look, lake, table, put):
    lake.commit(table, Manifest([put("a")]))
    before = table.metadata.metadata_log[-1].metadata_file
    server.answers["/v1/namespaces/db/tables/events"] = {
        "metadata-location": table.metadata_location,
        "metadata": json.loads(metadata_file(table).read_text()),
        "config": {},
    }
    assert look().findings == ()

    metadata_file(table).unlink()

    diagnosis = look()
    assert codes(diagnosis) == {"metadata_missing"}
    assert diagnosis.recovery.recommended == before

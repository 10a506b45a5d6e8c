"""One catalog that does not answer is told, and the tables of all others are gone on with."""

from __future__ import annotations

import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import yaml

from neve.catalog import connect
from neve.catalog.connect import Catalogs
from neve.catalog.surveyor import CatalogSurveyor
from neve.model.errors import CatalogError, NeveError
from neve.testing.facts import NOW

pytestmark = pytest.mark.promise(9)

REFUSED = {"type": "rest", "uri": "http://127.0.0.1:1"}
#: Catalogs that cannot be opened, and what is said of each.
BROKEN = {
    "nobody listens": (REFUSED, "Catalog bad cannot be reached"),
    "a type that there is not": (
        {"type": "nonsense"},
        "Catalog bad is said to be of type 'nonsense', which there is not.",
    ),
    "a driver that is missing": (
        {"type": "hive", "uri": "thrift://127.0.0.1:1"},
        "Catalog bad needs a package that is not installed",
    ),
    "no settings at all": ({"type": "rest"}, "Catalog bad cannot be opened"),
    "an implementation that is missing": (
        {"py-catalog-impl": "nowhere.Catalog"},
        "Catalog bad cannot be opened",
    ),
    "a database that is missing": (
        {"type": "sql", "uri": "sqlite:////nowhere/c.db"},
        "Catalog bad has no database yet",
    ),
}


@pytest.fixture
def configure(lake, events, tmp_path):
    """A lake that works, and catalogs beside it."""

    def write(**others):
        settings = {
            "catalogs": {"lake": lake.properties, **others},
            "default_catalog": "lake",
            "state": {"url": f"sqlite:///{tmp_path / '.neve' / 'state.db'}"},
            "policies": [{"name": "all", "operations": {"expire_snapshots": {"older_than": "9d"}}}],
        }
        (tmp_path / "neve.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")

    return write


@pytest.mark.parametrize("case", BROKEN)
def test_tables_of_other_catalogs_are_listed(configure, run, run_json, no_engine, case):
    properties, sentence = BROKEN[case]
    configure(bad=properties)

    result = run("tables")
    documents, code = run_json("tables")

    assert (result.exit_code, code) == (1, 1)
    assert "lake.db.events" in result.stdout
    assert result.stderr.count(sentence) == 1
    assert [item["table"] for item in documents] == ["lake.db.events"]


@pytest.mark.parametrize("words", [["health", "*"], ["plan", "*"], ["policy", "list"]])
def test_other_commands_for_many_tables_go_on_too(configure, run, run_json, no_engine, words):
    configure(bad=REFUSED, worse=REFUSED)

    result = run(*words)
    document, code = run_json(*words)

    assert (result.exit_code, code) == (1, 1)
    assert result.stdout.strip()
    assert "lake.db.events" in str(document)
    for name in ("bad", "worse"):
        assert result.stderr.count(f"Catalog {name} cannot be reached") == 1


def test_maintenance_goes_on_and_its_document_names_the_catalog(configure, run_json, engine):
    configure(bad=REFUSED)

    document, code = run_json("maintain", "--dry-run")

    assert code == 1
    assert [item["table"] for item in document["tables"]] == ["lake.db.events"]
    (problem,) = document["catalog_problems"]
    assert problem["catalog"] == "bad"
    assert problem["problem"].startswith("Catalog bad cannot be reached")


def test_maintenance_without_trouble_says_so(configure, run_json, engine):
    configure()

    document, code = run_json("maintain", "--dry-run")

    assert (code, document["catalog_problems"]) == (2, [])


def test_a_pattern_for_one_catalog_that_is_down_is_an_error(configure, run_json):
    configure(bad=REFUSED)

    document, code = run_json("tables", "bad.*")

    assert (code, document["error"]["type"]) == (1, "CatalogError")


def test_all_catalogs_down_are_all_told(configure, run, tmp_path):
    configure(bad=REFUSED, worse=REFUSED)
    (tmp_path / ".neve" / "catalog.db").unlink()

    for words in (["tables"], ["plan", "*"], ["maintain", "--dry-run"]):
        result = run(*words)
        assert result.exit_code == 1
        assert result.stderr.count("Error:") == 3


def test_a_trouble_of_the_only_table_is_told_beside_that_of_a_catalog(configure, run, tmp_path):
    configure(bad=REFUSED)
    for file in (tmp_path / ".neve" / "warehouse").rglob("*.metadata.json"):
        file.unlink()

    result = run("health", "*")

    assert result.exit_code == 1
    assert "Catalog bad cannot be reached" in result.stderr
    assert "The metadata of table lake.db.events cannot be read" in result.stderr


def test_what_deletes_must_know_of_every_table(lake, events):
    surveyor = CatalogSurveyor(
        Catalogs({"lake": lake.properties, "bad": REFUSED}, "lake"), lambda: NOW
    )

    with pytest.raises(CatalogError, match="Catalog bad cannot be reached"):
        surveyor.locations()
    with pytest.raises(CatalogError, match="Catalog bad cannot be reached"):
        surveyor.tables("*")


@pytest.fixture
def silent():
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_catalogs_that_hang_are_waited_for_together(configure, run, silent, monkeypatch):
    monkeypatch.setattr(connect, "OPENING_SECONDS", 2.0)
    slow = {"type": "rest", "uri": silent}
    configure(**{f"slow{number}": slow for number in range(5)})
    started = time.monotonic()

    result = run("tables")

    # One after the other they would take ten.
    assert time.monotonic() - started < 8
    assert "lake.db.events" in result.stdout
    assert result.stderr.count("did not answer within 2 seconds") == 5


def test_a_catalog_that_hangs_does_not_keep_another_from_being_opened(lake, events, silent):
    catalogs = Catalogs({"lake": lake.properties, "slow": {"type": "rest", "uri": silent}})
    opening = threading.Thread(target=lambda: quietly(catalogs), daemon=True)
    opening.start()

    assert [str(table) for table in catalogs.find("lake.*").tables] == ["lake.db.events"]
    assert opening.is_alive()


def quietly(catalogs):
    with pytest.raises(NeveError):
        catalogs.catalog("slow")


class Forbidding(BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'{"error": {"message": "Bad token", "type": "NotAuthorizedException", "code": 401}}'
        self.send_response(401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def test_bad_credentials_are_the_trouble_of_one_catalog(configure, run):
    with HTTPServer(("127.0.0.1", 0), Forbidding) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        configure(bad={"type": "rest", "uri": f"http://127.0.0.1:{server.server_port}"})
        result = run("tables")
        server.shutdown()

    assert (result.exit_code, "lake.db.events" in result.stdout) == (1, True)
    assert "Catalog bad cannot be reached: NotAuthorizedException: Bad token" in result.stderr

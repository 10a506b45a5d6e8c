"""Hostile catalogs and tables: nothing that they name is imported, and no secret sent to it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from tests.unit.catalog.rest_server import RestTable, serving

from neve.catalog.connect import Catalogs
from neve.catalog.tenant_tables import CatalogTables
from neve.model.errors import CatalogError, EngineNeeded
from neve.model.table import TableRef
from neve.testing.local_lake import LocalLake

pytestmark = pytest.mark.promise(63)

TABLE = TableRef("lake", ("db",), "t")
IMPORTED: list[object] = []
HERE = "tests.unit.catalog.test_careful.Evil"
#: Properties that name code, or other places for what is sent.
HOSTILE = {
    "py-io-impl": HERE,
    "write.py-location-provider.impl": HERE,
    "s3.endpoint": "http://169.254.169.254/",
    "uri": "http://169.254.169.254/",
}


class Evil:
    """What somebody else would like to be imported."""

    def __init__(self, *arguments: object) -> None:
        IMPORTED.append(arguments)


@pytest.fixture
def lake(tmp_path):
    return LocalLake(tmp_path / "lake")


@pytest.fixture
def table(lake):
    IMPORTED.clear()
    schema = Schema(NestedField(1, "id", LongType(), required=False))
    made = lake.create("db.t", schema)
    path = Path(made.metadata_location.removeprefix("file://"))
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**document, "properties": HOSTILE}))
    return made


def test_properties_of_a_table_choose_no_code_and_no_address(lake, table):
    catalogs = Catalogs({"lake": lake.properties})
    loaded = catalogs.load(TABLE)
    assert loaded.properties["py-io-impl"] == HERE
    assert "s3.endpoint" not in loaded.io.properties
    written = catalogs.writable("lake").load_table(("db", "t"))
    assert "s3.endpoint" not in written.io.properties
    with pytest.raises(EngineNeeded, match="names a class of its own"):
        CatalogTables(catalogs).open(TABLE)
    assert IMPORTED == []


@pytest.fixture
def rest(table):
    metadata = json.loads(Path(table.metadata_location.removeprefix("file://")).read_text("utf-8"))
    found = RestTable(metadata, table.metadata_location)
    with serving(found) as uri:
        found.uri = uri
        made = []

        def catalogs(**more):
            made.append(Catalogs({"lake": {"type": "rest", "uri": uri, **more}}))
            return made[-1]

        found.catalogs = catalogs
        yield found
        for one in made:
            for catalog in one._writable.values():
                catalog._session.close()


@pytest.fixture
def elsewhere(table):
    """A server that must not hear anything."""
    found = RestTable({}, "")
    with serving(found) as uri:
        found.uri = uri
        yield found


def test_a_catalog_names_no_code(rest):
    auth = {"type": "custom", "impl": HERE, "custom": {}}
    hostile = {"py-io-impl": HERE, "auth": auth, "ssl": {"cabundle": "/etc/passwd"}}
    for kind in ("defaults", "overrides"):
        rest.configuration = {"defaults": {}, "overrides": {}, kind: hostile}
        rest.config = {**hostile, "s3.region": "vended"}
        loaded = rest.catalogs(token="t").load(TABLE)
        assert loaded.io.properties["s3.region"] == "vended"
        assert loaded.properties["py-io-impl"] == HERE
    assert IMPORTED == []


@pytest.mark.parametrize("key", ["uri", "oauth2-server-uri", "s3.signer.uri"])
def test_a_catalog_sends_nobody_elsewhere(rest, elsewhere, key):
    rest.configuration = {"defaults": {}, "overrides": {key: elsewhere.uri}}
    with pytest.raises(CatalogError, match="which is not in the configuration") as caught:
        rest.catalogs(token="canary").load(TABLE)
    assert "canary" not in caught.value.message
    rest.configuration = {"defaults": {}, "overrides": {}}
    rest.config = {key: elsewhere.uri}
    with pytest.raises(CatalogError):
        rest.catalogs(token="canary").load(TABLE)
    assert elsewhere.asked == []
    # What the configuration names itself is meant.
    rest.config = {"s3.signer.uri": elsewhere.uri}
    rest.catalogs(**{"s3.signer.uri": elsewhere.uri}).load(TABLE)


TARGETS = [
    "http://169.254.169.254/latest", "gopher://127.0.0.1/", "//127.0.0.1:1/", "http://[::1]:1/",
    "http://2130706433:1/", "http://[::ffff:127.0.0.1]:1/", "http://", "http://[",
]  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/config", "/v1/namespaces/db/tables/t"])
def test_redirects_to_others_are_not_followed(rest, elsewhere, path):
    for target in (elsewhere.uri, *TARGETS):
        rest.redirects = {path: target}
        with pytest.raises(CatalogError) as caught:
            rest.catalogs(token="canary-7Q").load(TABLE)
        assert "canary-7Q" not in caught.value.message, target
    assert elsewhere.asked == []
    rest.redirects = {path: f"{rest.uri}/v1/there"}
    rest.redirects["/v1/there"] = f"{rest.uri}/v1/config/x" if "config" in path else ""
    assert rest.catalogs().load(TABLE).properties["py-io-impl"] == HERE


@pytest.mark.parametrize(
    "configuration",
    [[], {"defaults": 5, "overrides": []}, {"defaults": {}, "overrides": {"uri": 5}},
     {"defaults": {}, "overrides": {"rest.sigv4-enabled": "maybe"}},
     {"defaults": {}, "overrides": {"header.x": "a\r\nb: c"}}],
)  # fmt: skip
def test_what_is_no_configuration_is_told_in_a_sentence(rest, configuration):
    rest.configuration = configuration
    with pytest.raises(CatalogError) as caught:
        rest.catalogs().load(TABLE)
    assert "\n" not in caught.value.message

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField
from starlette.testclient import TestClient

from neve import Neve
from neve.access.rights import Grant, Role
from neve.api.app import create_app
from neve.testing.facts import MB
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False))
OWN, OTHER = "lake.acme.events", "lake.hush.events"


@pytest.fixture(scope="session")
def lake(tmp_path_factory):
    """A table of each of two tenants; nothing in these tests changes one."""
    lake = LocalLake(tmp_path_factory.mktemp("access") / ".neve", name="lake")
    for namespace in ("acme", "hush"):
        table = lake.create(f"{namespace}.events", SCHEMA)
        files = [FileEntry(f"file:///{namespace}{i}", (), size_bytes=MB) for i in range(5)]
        lake.commit(table, Manifest(files))
    return lake


@dataclass
class World:
    """A server that asks who is there."""

    neve: Neve
    client: TestClient

    def key(self, role="operator", tables="lake.acme", tenant="acme", **more) -> dict[str, str]:
        """A header with a new key."""
        rights = {name: more.pop(name) for name in ("purge", "policies") if name in more}
        grants = [Grant(Role(role), item, **rights) for item in tables.split(",")]
        name = more.pop("name", f"{tenant}-{role}")
        _, secret = self.neve.access.create_key(name, grants, tenant=tenant, **more)
        return {"Authorization": f"Bearer {secret}"}

    @property
    def store(self) -> Any:
        return self.neve._services.store

    @property
    def last_row(self):
        return self.neve.access.audit_rows(limit=1)[0].entry


@contextmanager
def opened(lake, folder, policies=(), more=None, **access):
    folder.mkdir(exist_ok=True)
    settings = {
        "catalogs": {"lake": lake.properties},
        "state": {"url": f"sqlite:///{folder}/state.db"},
        "access": {"enabled": True, **access},
        "policies": list(policies),
        **(more or {}),
    }
    path = folder / "neve.yaml"
    path.write_text(yaml.safe_dump(settings))
    with (
        Neve.open(path) as neve,
        TestClient(create_app(neve), raise_server_exceptions=False) as client,
    ):
        yield World(neve, client)


@pytest.fixture
def make_world(lake, tmp_path):
    """A server with what the section `access` says."""
    worlds = []

    def make(**access):
        manager = opened(lake, tmp_path / f"world{len(worlds)}", **access)
        worlds.append(manager)
        return manager.__enter__()

    yield make
    for manager in worlds:
        manager.__exit__(None, None, None)


@pytest.fixture
def world(make_world):
    return make_world()

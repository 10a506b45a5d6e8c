"""WRITE, CREATE_TABLE and COMPACT killed on their way: sent again, they count once."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyiceberg.catalog import load_catalog
from tests.attack.database_child import POINTS
from tests.attack.test_kills import ROOT

from neve import Neve
from neve.database.bodies import Compact, CreateTable, Write

pytestmark = [pytest.mark.promise(53, 55), pytest.mark.timeout(300)]

PLACE = {"tenant_id": "a", "namespace": "default", "table": "users"}
FIELDS = {"name": {"type": "string", "required": True}}
CREATE = {"operation": "CREATE_TABLE", **PLACE, "schema": {"fields": FIELDS}}
COMPACT = {"operation": "COMPACT", **PLACE, "force": True}
CREATING, WRITING = list(POINTS)[:2], list(POINTS)[2:7]
COMPACTING = list(POINTS)[7:]


def write(name: str) -> dict[str, Any]:
    return {"operation": "WRITE", **PLACE, "records": [{"name": name}], "idempotency_key": name}


class Place:
    """A catalog and a state on this disk."""

    def __init__(self, folder: Path) -> None:
        self.properties = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}/warehouse",
        }
        self.state = folder / "state.db"
        self.config = folder / "neve.yaml"
        self.config.write_text(
            yaml.safe_dump(
                {
                    "catalogs": {"lake": self.properties},
                    "state": {"url": f"sqlite:///{self.state}"},
                }
            )
        )

    def open(self) -> Neve:
        return Neve.open(self.config)

    def run_and_kill(self, point: str, body: dict[str, Any]) -> None:
        command = [sys.executable, "-m", "tests.attack.database_child", str(self.config), point]
        done = subprocess.run(
            [*command, json.dumps(body)], cwd=ROOT, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == -signal.SIGKILL, done.stderr

    def let_leases_end(self) -> None:
        """As if the time since the last heartbeat of whoever was killed had passed."""
        with closing(sqlite3.connect(self.state)) as db, db:
            db.execute("UPDATE claims SET expires_at = 0")

    def look(self) -> tuple[list[str], int]:
        """Names in the table and its files, read by nothing of Neve's; every file must be there."""
        catalog = load_catalog("lake", **self.properties)
        table = catalog.load_table(("t_a__default", "users"))
        files = [task.file.file_path for task in table.scan().plan_files()]
        for snapshot in table.metadata.snapshots:
            for manifest in snapshot.manifests(table.io):
                entries = manifest.fetch_manifest_entry(table.io)
                paths = [entry.data_file.file_path for entry in entries]
                assert all(Path(path.removeprefix("file://")).exists() for path in paths)
        names = table.scan().to_arrow()["name"].to_pylist()
        catalog.close()
        return sorted(names), len(files)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("point", CREATING)
def test_a_table_is_made_once(place: Place, point: str) -> None:
    place.run_and_kill(point, CREATE)
    with place.open() as neve:
        again = neve.database.create_table(
            CreateTable.model_validate({**CREATE, "if_not_exists": True})
        )
        assert again.created == (point == "namespace made")
        neve.database.write(Write.model_validate(write("x")))
    assert place.look() == (["x"], 1)


@pytest.mark.parametrize("point", WRITING)
def test_a_write_that_is_sent_again_counts_once(place: Place, point: str) -> None:
    with place.open() as neve:
        neve.database.create_table(CreateTable.model_validate(CREATE))
        neve.database.write(Write.model_validate(write("before")))
    place.run_and_kill(point, write("killed"))
    with place.open() as neve, place.open() as other:
        is_there = point not in ("rows staged", "before the commit")
        for server in (neve, other):
            answer = server.database.write(Write.model_validate(write("killed")))
            assert answer.repeated == is_there
            is_there = True
        neve.database.write(Write.model_validate(write("after")))
        assert place.look()[0] == ["after", "before", "killed"]
        uuid = neve.survey("lake.t_a__default.users").table_uuid
        # Each acknowledged write counts once, whoever counted it.
        assert neve._services.store.writes.record(str(uuid), []) == 3


@pytest.mark.parametrize("point", COMPACTING)
def test_a_compaction_that_was_killed_is_settled_and_gets_through(place: Place, point: str) -> None:
    names = ["a", "b", "c"]
    with place.open() as neve:
        neve.database.create_table(CreateTable.model_validate(CREATE))
        for name in names:
            neve.database.write(Write.model_validate(write(name)))
    place.run_and_kill(point, COMPACT)
    assert place.look()[0] == names
    place.let_leases_end()
    with place.open() as neve:
        answer = neve.database.compact_here(Compact.model_validate(COMPACT))
        is_committed = "after the repl" in point or "end of the job" in point
        assert answer.compacted != is_committed
        assert place.look() == (names, 1)
        assert all(report.job.state.is_final for report in neve.jobs())
        # What was written before is known to be so.
        assert neve.database.write(Write.model_validate(write("a"))).repeated

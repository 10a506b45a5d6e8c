"""`neve maintain` as users run it: a process of its own, one JVM, several tables at once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from tests.spark.sick_tables import COMMAND, rows, sick_tables

NAMES = [f"t{number}" for number in range(6)]
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def catalog(tmp_path: Path) -> SqlCatalog:
    return sick_tables(tmp_path, NAMES, {"maintain": {"parallel_tables": 4}})


def test_several_tables_share_one_engine(catalog, tmp_path):
    before = {name: rows(catalog, name) for name in NAMES}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, "-vv", "maintain", "lake.db.t*", "-o", "json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )

    document = json.loads(done.stdout)
    found = {
        report["table"]: {r["operation"]: r["status"] for r in report["operations"]}
        for report in document["tables"]
    }
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert done.stderr.count("Starting Spark") <= 1
    assert [found[f"lake.db.{name}"]["rewrite_data_files"] for name in NAMES] == ["succeeded"] * 6
    for name in NAMES:
        assert rows(catalog, name) == before[name]
        assert len(list(catalog.load_table(("db", name)).scan().plan_files())) == 1
    logged = catalog.load_table(("db", "_maintenance_log")).scan().to_arrow()
    assert len(set(logged["job_id"].to_pylist())) >= len(NAMES)

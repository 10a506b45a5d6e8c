"""A table of Trino is maintained as the page of the stack says, and its history is asked for."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.pages import ROOT, blocks
from tests.system.stack_fixtures import Lake, forget_tables

from neve.trino import maintain_table
from neve.trino.connect import connect, trino_errors

STACK, QUERIES = "start/stack.md", "queries.md"
SUPERSET = Path(__file__).with_name("superset_session.py")


@pytest.fixture(scope="module")
def shop(stack):
    """The schema `shop` with two tables of small files, one of which is to fail."""
    facts = stack.facts["trino"]
    connection = connect(host=facts["host"], port=facts["port"], user=facts["user"])
    lake = Lake(connection, connection.cursor(), "shop")
    lake.sql("CREATE SCHEMA iceberg.shop")
    try:
        lake.make_table("orders", files=4)
        yield lake
    finally:
        for (table,) in lake.sql("SHOW TABLES IN iceberg.shop"):
            with contextlib.suppress(*trino_errors()):
                lake.sql(f"DROP TABLE {lake.name(table)}")
        forget_tables(stack, "shop")
        connection.close()


@pytest.fixture(scope="module")
def maintained(shop, stack, tmp_path_factory):
    """The commands of the page, in a folder of their own; then Trino's, of which one fails."""
    folder = tmp_path_factory.mktemp("stack")
    environment = os.environ | {"NEVE_CONFIG": str(stack.home / "neve.yaml")}
    program = Path(sys.executable).with_name("neve")
    said = {}
    for block in blocks(STACK):
        for line in block.lines if block.language == "bash" else ():
            words = [str(program), *shlex.split(line)[1:]]
            done = subprocess.run(
                words, env=environment, cwd=folder, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            said[line] = done.stdout
    for table in ("orders", "gone"):
        maintain_table(
            shop.cursor,
            table,
            run_id="run-1",
            clock=lambda: datetime.now(UTC),
            errors=trino_errors(),
            settings=shop.settings(),
        )
    return said


def test_the_commands_of_the_page_cure_a_table_of_trino(shop, maintained):
    assert "orders" in maintained["neve tables 'iceberg.shop.*'"]
    assert shop.rows("orders") == [[n, f"row {n}"] for n in range(4)]
    assert shop.sql('SELECT count(*) FROM iceberg.shop."orders$files"') == [[1]]
    assert ["orders", "optimize", "completed"] in shop.log()


def statements():
    return [block.text for block in blocks(QUERIES) if block.language == "sql"]


def test_every_query_of_the_page_is_answered(shop, maintained):
    answers = [
        shop.sql(text.replace("iceberg.lakehouse.", "iceberg.shop.")) for text in statements()
    ]
    newest, gained, failed, still_failing, weeks, judged, worst, snapshots, history, sizes = answers

    assert len(newest) == 7
    assert [row[1:] for row in gained[:1]] == [["orders", 4, 1, 3]]
    assert {row[0] for row in failed} == {row[0] for row in still_failing} == {"gone"}
    assert [row[1:3] for row in weeks] == [[7, 3]]
    assert [row[4] for row in judged] == [4, 1]
    assert [row[0] for row in worst] == ["orders"]
    assert [row[2] for row in snapshots][-1] == 1
    assert any(row[5] for row in snapshots), "the snapshot of Neve's job bears its id"
    assert history[0][1:3] == ["orders", 1]
    assert sizes == [["below 16 MB", 1, 4]]


def test_superset_takes_the_dashboard_and_answers_every_chart(stack, tool, maintained, tmp_path):
    facts = stack.facts["trino"]
    address = f"trino://{facts['user']}@{facts['host']}:{facts['port']}/iceberg"
    packer = [sys.executable, str(ROOT / "deploy" / "superset" / "bundle.py"), address, "shop"]
    bundle = tmp_path / "neve.zip"
    bundle.write_bytes(subprocess.run(packer, capture_output=True, check=True).stdout)

    done = subprocess.run(
        [tool("superset"), str(SUPERSET), str(tmp_path), str(bundle)],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    result = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))

    assert [status for status, _ in result["imported"]] == [200, 200], result["imported"]
    # The second time replaced the first: ids are fixed.
    assert len(result["charts"]) == 8
    assert sorted(result["shown"]) == sorted(result["charts"])
    for name, answer in result["charts"].items():
        assert answer["status"] == 200, (name, answer)
        assert answer["rows"], (name, answer)
    (rate,) = result["charts"]["Success rate"]["rows"]
    assert float(rate["success rate"]) == pytest.approx(4 / 7)
    assert {row["table_name"] for row in result["charts"]["Failures, newest first"]["rows"]} == {
        "gone"
    }

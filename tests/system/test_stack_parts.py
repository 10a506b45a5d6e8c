"""Optional parts of the stack, and the neve.yaml that it writes for those that run."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.system.stack_bench import FOLDER, Workbench, answers, bench

from neve.model.table import TableRef
from neve.settings import load_settings
from neve.store.opening import open_store

__all__ = ["bench"]
CHECKOUT = FOLDER.parents[1]
TABLE = TableRef("iceberg", ("shop",), "sales")


def of_stack(question: str) -> str:
    """What the stack's own modules answer."""
    command = [sys.executable, "-c", question]
    environment = os.environ | {"PYTHONPATH": str(FOLDER)}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_the_default_parts_are_storage_catalog_and_trino() -> None:
    assert of_stack("import parts; print(*parts.DEFAULT)") == "s3 rest trino\n"


def test_every_part_comes_after_what_it_needs() -> None:
    said = of_stack(
        "import parts\nnames = list(parts.PARTS)\n"
        "print(names, all(names.index(n) < names.index(p)"
        " for p in names for n in parts.PARTS[p].NEEDS))"
    )

    assert "'redis'" in said
    assert "'nessie'" in said
    assert said.endswith("True\n")


@pytest.mark.parametrize(
    ("target", "command"), [("up", "up"), ("status", "status"), ("down", "down")]
)
def test_make_hands_over_the_parts(target: str, command: str) -> None:
    said = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", f"stack-{target}", "PARTS=redis nessie"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert said.rstrip().endswith(f"tools/stack/stack.py {command} redis nessie")


def test_redis_keeps_the_state_that_neve_yaml_names(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = bench.run("up", "redis")
    assert code == 0, said
    monkeypatch.setenv("NEVE_CONFIG", str(bench.home / "neve.yaml"))
    settings = load_settings(None)

    with closing(open_store(settings.state.url, settings.state.prefix)) as store:
        store.pause(TABLE)
    bench.run("down", "redis")
    assert not answers(bench.facts["redis"]["port"])
    bench.run("up", "redis")

    with closing(open_store(settings.state.url, settings.state.prefix)) as store:
        kept = store.schedule_state(TABLE)
    assert kept is not None
    assert kept.is_paused


def test_neve_yaml_is_private_and_goes_with_the_stack(bench: Workbench) -> None:
    _, said = bench.run("up", "redis")
    path = bench.home / "neve.yaml"

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert said.rstrip().endswith(f"neve --config {path} tables")
    bench.run("down")
    assert not path.exists()


def test_a_second_up_changes_nothing(bench: Workbench) -> None:
    bench.run("up", "redis")
    kept = [Path(bench.home, name).read_bytes() for name in ("stack.json", "neve.yaml")]

    code, said = bench.run("up", "redis")

    assert (code, "redis: already running." in said) == (0, True)
    assert [Path(bench.home, name).read_bytes() for name in ("stack.json", "neve.yaml")] == kept


def test_without_a_server_of_its_own_the_state_is_a_file_of_the_stack(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.run("up", "s3")
    monkeypatch.setenv("NEVE_CONFIG", str(bench.home / "neve.yaml"))

    assert load_settings(None).state.url == f"sqlite:///{bench.home}/data/neve/state.db"

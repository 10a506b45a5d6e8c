"""`neve spark-package` writes the archive, and says how it is used."""

from __future__ import annotations

import pytest

from neve.spark import package


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(package, "write_package", lambda target: target.write_bytes(b"packed"))


def test_the_archive_is_told_with_what_it_is_for(run_json, tmp_path):
    target = tmp_path / "neve-executors.zip"

    document, code = run_json("spark-package", "--out", target)

    assert (code, document["path"], document["size_bytes"]) == (0, str(target), 6)


def test_people_are_told_what_to_configure(run, tmp_path):
    target = tmp_path / "neve-executors.zip"

    shown = run("spark-package", "--out", target)

    assert shown.exit_code == 0
    assert f"spark: {{package: {target}}}" in shown.stdout.replace("\n", "")


def test_another_ending_is_refused(run_json, tmp_path):
    document, code = run_json("spark-package", "--out", tmp_path / "executors.rar")

    assert (code, document["error"]["type"]) == (1, "InputError")

"""What the demo tells to type next works in the shell that it was started from."""

from __future__ import annotations

import sys

import pytest

from neve.cli.demo import typed_here


@pytest.mark.parametrize(
    ("started", "is_on_path", "typed"),
    [
        (".venv/bin/neve", False, ".venv/bin/neve"),
        ("/opt/my tools/neve", False, "'/opt/my tools/neve'"),
        (".venv/bin/neve", True, "neve"),
        ("-m", False, "neve"),
    ],
)
def test_neve_is_called_as_the_shell_finds_it(tmp_path, monkeypatch, started, is_on_path, typed):
    if is_on_path:
        (tmp_path / "neve").write_text("")
        (tmp_path / "neve").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [started])

    assert typed_here() == typed

"""The page about the architecture speaks of files that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_file_that_it_names_is_there():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = set(re.findall(r"[a-z_/]+\.py\b", text))
    known = {
        path.relative_to(ROOT / "src/neve").as_posix() for path in ROOT.glob("src/neve/**/*.py")
    }

    assert len(names) > 20
    for name in names:
        found = any(file == name or file.endswith(f"/{name}") for file in known)
        assert found or (name.startswith("tests/") and (ROOT / name).is_file()), name


def test_the_way_of_a_copy_has_at_most_twelve_hops():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    (way,) = re.findall(r"## The way of .*?\n\n(.*?)\. Where", text, re.DOTALL)
    files = re.findall(r"`([a-z_/]+(?:\.py)?)`", way)

    assert (files[0], files[-1]) == ("cli/change.py", "catalog/maintenance_log.py")
    assert 8 < len(files) - 1 <= 12
    assert len(re.findall("[→⇒]", way)) == len(files) - 1

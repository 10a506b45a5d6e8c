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
        assert any(file == name or file.endswith(f"/{name}") for file in known), name

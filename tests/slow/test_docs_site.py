"""The documentation site is built without a warning, and loads nothing from other hosts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.pages import DOCS, ROOT


def build(into, *, config=ROOT / "mkdocs.yml"):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(config)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [*command, "--site-dir", str(into)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_on_the_site(site):
    pages = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert {page for page in pages if not (site / page).is_file()} == set()
    shown = (site / "index.html").read_text(encoding="utf-8")
    assert [
        str(page) for page in pages if f'href="{page}"' not in shown and page.stem != "index"
    ] == []


def test_nothing_is_loaded_from_elsewhere(site):
    loading = re.compile(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="?((?:https?:)?//[^" >]+)')
    for path in site.rglob("*.html"):
        assert loading.findall(path.read_text(encoding="utf-8")) == [], path
    for path in site.rglob("*.css"):
        assert re.findall(r"url\((?:https?:)?//", path.read_text(encoding="utf-8")) == [], path


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path):
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "index.md").write_text("[gone](gone.md)", encoding="utf-8")
    settings |= {"docs_dir": str(docs), "nav": [{"Neve": "index.md"}]}
    settings["hooks"] = [str(ROOT / "tools" / "docs_site.py")]
    config = tmp_path / "mkdocs.yml"
    config.write_text(yaml.safe_dump(settings), encoding="utf-8")

    done = build(tmp_path / "site", config=config)

    assert done.returncode != 0
    assert "gone.md" in done.stderr


def test_make_docs_is_this_build():
    text = Path(ROOT / "Makefile").read_text(encoding="utf-8")
    assert "mkdocs build --quiet --strict" in text

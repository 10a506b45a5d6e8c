"""`neve report` writes one page that needs nothing else, and says where."""

from __future__ import annotations

import re
import sys


def test_a_page_holds_its_pictures_and_asks_nobody(run_json, events, lake, tmp_path):
    page = tmp_path / "report.html"
    document, code = run_json("report", "db.events", "--out", page)
    text = page.read_text(encoding="utf-8")
    assert code == 0
    assert (document["table"], document["path"]) == ("lake.db.events", str(page))
    assert document["size_bytes"] == len(text.encode())
    assert text.count("Plotly.newPlot(") == 5
    assert "default-src 'none'" in text
    # Nothing is loaded: neither scripts nor styles nor pictures have an address.
    assert re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=", text) == []


def test_a_table_that_is_not_there_is_said(run_json, events, tmp_path):
    document, code = run_json("report", "db.nothing", "--out", tmp_path / "report.html")
    assert code == 1
    assert "db.nothing" in document["error"]["message"]
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_written_is_said(run_json, events, tmp_path):
    document, code = run_json("report", "db.events", "--out", tmp_path)
    assert code == 1
    assert document["error"]["next_step"] == "Give --out another file."


def test_without_the_package_it_says_how_to_get_it(run_json, events, tmp_path, monkeypatch):
    for name in [each for each in sys.modules if each.startswith(("neve.pictures", "plotly"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "plotly", None)
    document, code = run_json("report", "db.events", "--out", tmp_path / "report.html")
    assert code == 1
    assert document["error"]["next_step"] == "pip install 'neve[pictures]'"

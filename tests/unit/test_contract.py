"""The contract names tests that exist, and numbers its promises without a gap."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONTRACT = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
PROMISES = re.findall(r"^(\d+)\. (.*?)(?=^\d+\. |^#|\Z)", CONTRACT, re.DOTALL | re.MULTILINE)
PATH = re.compile(r"`((?:tests|src|docs|benchmarks)/[^`]*)`")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def test_every_path_that_the_contract_names_exists():
    assert [path for path in PATH.findall(CONTRACT) if not (ROOT / path).is_file()] == []


def test_promises_are_numbered_in_order():
    assert [int(number) for number, _ in PROMISES] == list(range(1, len(PROMISES) + 1))


@pytest.mark.parametrize(("number", "promise"), PROMISES, ids=[n for n, _ in PROMISES])
def test_every_promise_names_a_test(number, promise):
    assert [path for path in PATH.findall(promise) if path.startswith("tests/")]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/contract.md"])
def test_links_between_documents_lead_somewhere(name):
    document = ROOT / name
    links = LINK.findall(document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_decisions_are_numbered_in_order():
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").iterdir())
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))

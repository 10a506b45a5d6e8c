"""Promises and tests name each other: none is without the other, in any tier."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TIERS = ("unit", "edges", "slow", "spark", "attack", "system", "world")
CONTRACT = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
PROMISES = re.findall(r"^(\d+)\. (.*?)(?=^\d+\. |^#|\Z)", CONTRACT, re.DOTALL | re.MULTILINE)
TESTED = re.compile(r"\*Tested:\s+([^*]+)\.\*")
PATH = re.compile(r"`((?:tests|src|docs|benchmarks)/[^`]*)`")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def marked_in(source: str) -> set[int]:
    """Numbers of the promises that a file's marks name, where it has a test for them."""
    tree = ast.parse(source)
    if not any(_is_test(node) for node in ast.walk(tree)):
        return set()
    return {
        number.value
        for node in tree.body
        for mark in _marks(node)
        for number in mark.args
        if isinstance(number, ast.Constant) and isinstance(number.value, int)
    }


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name.startswith("test_")


def _marks(node: ast.stmt) -> list[ast.Call]:
    """The marks of a test or of the whole file; one on a helper shows nothing."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.FunctionDef) and _is_test(node):
        parts = node.decorator_list
    elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
        parts = [node.value]
    calls = [call for part in parts for call in ast.walk(part) if isinstance(call, ast.Call)]
    return [call for call in calls if ast.unparse(call.func) == "pytest.mark.promise"]


def marks() -> dict[int, set[str]]:
    """The tiers that have a test for each number."""
    found: dict[int, set[str]] = {}
    for tier in TIERS:
        for file in (ROOT / "tests" / tier).rglob("test_*.py"):
            source = file.read_text(encoding="utf-8")
            # Parsing takes a while, and most files name no promise.
            for number in marked_in(source) if "promise(" in source else ():
                found.setdefault(number, set()).add(tier)
    return found


def claims() -> dict[int, set[str]]:
    """The tiers that the contract names for each promise."""
    return {
        int(number): {tier.strip() for named in TESTED.findall(text) for tier in named.split(",")}
        for number, text in PROMISES
    }


def test_promises_are_numbered_in_order():
    assert list(claims()) == list(range(1, len(PROMISES) + 1))


def test_every_promise_is_tested_where_it_says_so_and_every_mark_names_a_promise():
    assert marks() == claims()


def test_every_promise_says_once_where_it_is_tested():
    assert [number for number, text in PROMISES if len(TESTED.findall(text)) != 1] == []


@pytest.mark.parametrize(
    ("source", "numbers"),
    [
        ("pytestmark = pytest.mark.promise(1, 2)\ndef test_a(): ...", {1, 2}),
        ("pytestmark = [pytest.mark.timeout(9), pytest.mark.promise(3)]\ndef test_a(): ...", {3}),
        ("@pytest.mark.promise(4)\ndef test_a(): ...", {4}),
        ("@pytest.mark.promise(5)\ndef helper(): ...\ndef test_a(): ...", set()),
        ("pytestmark = pytest.mark.promise(6)", set()),
        ("pytestmark = pytest.mark.timeout(7)\ndef test_a(): ...", set()),
    ],
)
def test_a_mark_counts_where_it_marks_a_test(source, numbers):
    assert marked_in(source) == numbers


def test_every_path_that_the_contract_names_exists():
    assert [path for path in PATH.findall(CONTRACT) if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "docs/contract.md"])
def test_links_between_documents_lead_somewhere(name):
    document = ROOT / name
    links = LINK.findall(document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_decisions_are_numbered_in_order():
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").iterdir())
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))

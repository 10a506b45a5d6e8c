"""The page about conformance says what the tests say, and no case is without a test."""

from __future__ import annotations

import pytest
from tests.conformance_cases import CASES
from tools.conformance import ROOT, Shown, all_shown, page, shown_by

KNOWN = [case for cases in CASES.values() for case in cases]


@pytest.fixture(scope="module")
def shown() -> list[Shown]:
    return all_shown()


def test_the_page_is_what_the_tests_say(shown):
    """`make conformance` writes it."""
    assert (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8") == page(shown)


def test_every_case_has_a_test_and_every_mark_names_a_case(shown):
    assert {each.case for each in shown} == set(KNOWN)
    assert len(KNOWN) == len(set(KNOWN))


MARKED = """
VERSIONS = (2, 3)
@pytest.mark.conformance("one", "two", engines=("copy",))
@pytest.mark.parametrize(("change", "version"), [("add", 1), ("drop", 3)])
def test_a(lake): lake.create(version=2)
@pytest.mark.conformance("three")
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("engine", [RewriteMode.REWRITE, RewriteMode.SPARK])
def test_b(lake): ...
@pytest.mark.conformance("helper")
def helper(): ...
def test_c(): ...
"""


def test_versions_and_engines_are_those_that_a_test_names():
    found = list(shown_by("a.py", MARKED))

    assert found == [
        Shown("one", "a.py", "test_a", ("1", "2", "3"), ("copy",)),
        Shown("two", "a.py", "test_a", ("1", "2", "3"), ("copy",)),
        Shown("three", "a.py", "test_b", ("2", "3"), ("rewrite", "spark")),
    ]

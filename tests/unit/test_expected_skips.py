from __future__ import annotations

import pytest
from tests.expected_skips import VARIABLE

CASES = """
import pytest

def test_skipped():
    pytest.skip("no such engine")

@pytest.mark.skip(reason="somebody was in a hurry")
def test_marked():
    pass

@pytest.fixture
def bucket():
    pytest.skip("no bucket of 5 MB")

def test_without_its_fixture(bucket):
    pass

@pytest.mark.may_skip("no such", "no bucket")
def test_expected():
    pytest.skip("no such engine here")

@pytest.mark.may_skip("no bucket")
def test_expected_of_a_fixture(bucket):
    pass

@pytest.mark.may_skip("no bucket")
def test_for_another_reason():
    pytest.skip("no such engine")

@pytest.mark.xfail(strict=True)
def test_that_is_known_to_fail():
    raise AssertionError
"""
MODULE = "import pytest\npytest.skip('no such library', allow_module_level=True)\n"


@pytest.fixture
def outcomes(pytester):
    """How the cases end in a run of their own."""

    def run():
        pytester.makepyfile(test_cases=CASES, test_module=MODULE)
        done = pytester.runpytest_inprocess(
            *("--disable-plugin-autoload", "-p", "tests.expected_skips"),
            *("-o", "markers=may_skip", "--continue-on-collection-errors"),
        )
        return {k: v for k, v in done.parseoutcomes().items() if "warning" not in k}

    return run


def test_skips_are_skips_at_home(outcomes, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)

    assert outcomes() == {"skipped": 7, "xfailed": 1}


def test_a_skip_that_its_test_does_not_expect_fails_in_ci(outcomes, monkeypatch):
    monkeypatch.setenv(VARIABLE, "fail")

    assert outcomes() == {"failed": 2, "errors": 3, "skipped": 2, "xfailed": 1}

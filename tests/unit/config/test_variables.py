"""Variables of the environment in a configuration, by every form that people know."""

from __future__ import annotations

import pytest

from neve.config.variables import expand_variables
from neve.model.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}", "x"),
        ("${ENV:A}", "x"),
        ("${ENV:-d}", "d"),
        ("${ENV:?say}${A}", None),
        ("${A}:${ENV:A}", "x:x"),
        ("$${A}", "${A}"),
        ("$${ENV:A} ${A}", "${ENV:A} x"),
        ("${spark.master}", "${spark.master}"),
        ("${A:-a:-b}", "x"),
        ("${B:-a:-b}", "a:-b"),
    ],
)
def test_every_form_is_replaced(text, expected):
    if expected is None:
        with pytest.raises(ConfigError, match="variable ENV: say"):
            expand_variables(text, {"A": "x"})
        return
    assert expand_variables(text, {"A": "x"}) == expected


@pytest.mark.parametrize(
    "text",
    ["${A:+x}", "${A:=x}", "${A-x}", "${A?x}", "${env:A}", "${ENV:a-b}", "${ENV:}", "${A", "${A:"],
)
def test_what_only_looks_like_a_variable_is_an_error(text):
    with pytest.raises(ConfigError, match=r"cannot be read at a\.b\[1\]\.") as error:
        expand_variables({"a": {"b": ["", f"{text}"]}}, {"A": "x"})

    assert "$${" in str(error.value.next_step)


@pytest.mark.parametrize("form", ["${S}", "${ENV:S}", "${S:?}"])
def test_a_missing_variable_is_named_with_the_key_that_needs_it(form):
    with pytest.raises(ConfigError) as error:
        expand_variables({"storage": {"bucket": form}}, {})

    assert error.value.message == (
        "The configuration needs the environment variable S for storage.bucket."
    )


def test_an_error_does_not_repeat_what_stands_in_the_form():
    with pytest.raises(ConfigError) as error:
        expand_variables({"password": "${P:+hunter2}"}, {})

    assert "hunter2" not in f"{error.value.message} {error.value.next_step}"

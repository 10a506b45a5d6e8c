"""The schemas are those of the model, one for each command, and they refuse what is not printed."""

from __future__ import annotations

import json
import re

import pytest
from jsonschema import ValidationError
from tests.json_documents import FOLDER, check_document, validator

from neve.cli.commands import COMMANDS
from neve.cli.json_schemas import files

TESTS = FOLDER.parents[1] / "tests"


def test_the_schemas_of_the_documentation_are_those_of_the_model():
    found = {file.name: file.read_text(encoding="utf-8") for file in FOLDER.iterdir()}

    assert found == files(), "make them again: python -m neve.cli.json_schemas docs/json"


def test_every_command_has_a_schema():
    # A server prints no document: it answers with them.
    commands = set(COMMANDS) - {"serve"}
    assert commands | {"error"} == {
        file.name.removesuffix(".schema.json") for file in FOLDER.iterdir()
    }


def test_a_field_more_or_less_does_not_pass(run_json, only_looking):
    document, _ = run_json("health", "lake.db.events")

    for changed in ({**document, "more": 1}, {k: v for k, v in document.items() if k != "score"}):
        with pytest.raises(ValidationError):
            validator("health").validate(changed)


@pytest.mark.parametrize("text", ['{"score": NaN}', "[Infinity]", '{"error": 5}', "{}", ""])
def test_what_is_no_document_of_the_command_does_not_pass(text):
    with pytest.raises((ValidationError, AssertionError, json.JSONDecodeError)):
        check_document(["health", "lake.db.events"], text)


def test_every_command_is_run_for_its_document_by_a_test():
    folders = [TESTS / name for name in ("edges/cli", "slow/cli", "spark", "spark/cases")]
    text = "\n".join(
        file.read_text(encoding="utf-8") for folder in folders for file in folder.glob("*.py")
    )
    for command in set(COMMANDS) - {"serve"}:
        called = rf'(run_json\(\s*|check_document\(\[)"{command}"'
        assert re.search(called, text), command

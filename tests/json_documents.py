"""What a command printed, held against the schema that the documentation has of it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parents[1] / "docs" / "json"


@cache
def validator(name: str) -> Draft202012Validator:
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    return Draft202012Validator(schema)


def no_number(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def check_document(words: list[str], stdout: str) -> Any:
    """Fail unless stdout is the document of the command that the words name, or an error's."""
    document = json.loads(stdout, parse_constant=no_number)
    is_error = isinstance(document, dict) and document.keys() == {"error"}
    command = next((word for word in words if (FOLDER / f"{word}.schema.json").exists()), "error")
    validator("error" if is_error else command).validate(document)
    return document

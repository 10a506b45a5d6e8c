from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator
from tests.json_documents import FOLDER


@pytest.mark.parametrize("name", sorted(file.name for file in FOLDER.iterdir()))
def test_a_schema_is_one(name):
    Draft202012Validator.check_schema(json.loads((FOLDER / name).read_text(encoding="utf-8")))

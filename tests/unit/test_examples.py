"""Configuration that the documents show is configuration that Neve reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from neve.model.operation import Operation
from neve.settings import Settings, load_settings

ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "neve.example.yaml").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
#: A line of YAML that is commented out; prose has no colon behind its first word.
COMMENTED_OUT = re.compile(r"^( *)# ( *(?:- )?[a-z][\w.-]*:(?: .*)?)$", re.MULTILINE)
SECRETS = {
    "CATALOG_URI": "http://localhost:8181",
    "TRINO_PASSWORD": "a secret",
    "NEVE_AUDIT_KEY": "a key that seals",
}


def read(text):
    Path("neve.yaml").write_text(text, encoding="utf-8")
    return load_settings(environ=SECRETS)


def with_all_lines(text):
    return COMMENTED_OUT.sub(r"\1\2", text)


def test_the_example_shows_the_defaults():
    shown, default = read(EXAMPLE), Settings()

    assert shown.compaction.policy() == default.compaction.policy()
    assert shown.orphans.rules() == default.orphans.rules()
    sections = ("engine", "trino", "maintain", "spark", "cost", "policies", "import_amoro")
    for section in (*sections, "server", "scheduler", "set_aside", "notifications", "access"):
        assert getattr(shown, section) == getattr(default, section)


def test_the_example_has_every_key():
    known = yaml.safe_load(with_all_lines(EXAMPLE))

    assert known.keys() == Settings.model_fields.keys()
    sections = ("compaction", "orphans", "cost", "trino", "maintain", "spark", "state")
    for name in (*sections, "server", "scheduler", "set_aside", "notifications", "access"):
        fields = type(getattr(Settings(), name)).model_fields
        assert known[name].keys() == {field.alias or key for key, field in fields.items()}


def test_lines_of_the_example_that_are_commented_out_can_be_used():
    settings = read(with_all_lines(EXAMPLE))

    assert list(settings.catalogs) == ["lake", "prod", "versioned"]
    assert settings.trino.password == "a secret"
    assert [rule.name for rule in settings.policies] == ["everything", "gold"]


@pytest.mark.parametrize("block", BLOCKS, ids=[block.split(":")[0] for block in BLOCKS])
def test_every_configuration_in_the_readme_can_be_used(block):
    assert read(block).model_fields_set >= yaml.safe_load(block).keys()


def test_the_policies_of_the_readme_enable_what_deletes():
    rules = {rule.name: rule for block in BLOCKS for rule in read(block).policies}

    assert list(rules) == ["everything", "gold"]
    assert rules["everything"].operations >= {
        Operation.EXPIRE_SNAPSHOTS,
        Operation.REMOVE_ORPHAN_FILES,
    }

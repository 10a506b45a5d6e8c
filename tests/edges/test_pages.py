"""What the pages show is what the program takes; what no test runs says so."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.pages import DOCS, NOT_RUN, ROOT, blocks, pages

from neve.cli.commands import COMMANDS
from neve.settings import load_settings

#: Languages that a test runs (bash, python, sql), reads (yaml, properties) or leaves alone (sh).
KNOWN = {"bash", "python", "sql", "yaml", "properties", "sh"}
VARIABLES = {
    "CATALOG_URI": "http://localhost:8181",
    "HOSTNAME": "neve-0",
    "TRINO_PASSWORD": "a secret",
}
PAGES = pages()


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_or_says_that_it_is_not(page):
    for block in blocks(page):
        assert block.language in KNOWN, block
        assert (block.language == "sh") == block.note.startswith(NOT_RUN), block
        if block.language == "bash":
            assert all(line.startswith("neve ") for line in block.lines), block


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_is_shown_is_there(page):
    shown = [line for b in blocks(page) for line in b.lines if line.startswith("neve ")]
    assert {line.split()[1] for line in shown} <= COMMANDS.keys()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "yaml" in {b.language for b in blocks(page)}]
)
def test_every_configuration_can_be_used(page):
    for block in blocks(page):
        if block.language == "yaml" and not block.title:
            Path("neve.yaml").write_text(block.text, encoding="utf-8")
            said = yaml.safe_load(block.text).keys()
            assert load_settings(environ=VARIABLES).model_fields_set >= said


@pytest.mark.parametrize("page", PAGES)
def test_a_block_with_a_title_is_a_part_of_that_file(page):
    for block in blocks(page):
        path = ROOT / block.title
        if block.title and block.language == "yaml":
            assert path.read_text(encoding="utf-8") == block.text


def test_the_properties_of_trino_are_the_ones_of_the_file():
    (shown,) = [b for b in blocks("guides/trino-shops.md") if b.language == "properties"]
    kept = (ROOT / "deploy/trino/iceberg.properties").read_text(encoding="utf-8").splitlines()

    assert set(shown.lines) <= set(kept)


def test_the_values_of_the_page_fit_the_chart():
    folder = ROOT / "deploy/helm/neve"
    schema = yaml.safe_load((folder / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((folder / "values.yaml").read_text(encoding="utf-8"))
    given = yaml.safe_load((ROOT / "examples/helm/values.yaml").read_text(encoding="utf-8"))

    jsonschema.validate(merged(values, given), schema)
    assert set(schema["properties"]) - {"global"} == set(values)


def merged(below, above):
    """As Helm merges values: mappings key by key, all else as a whole."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return {**below, **{key: merged(below.get(key), value) for key, value in above.items()}}


@pytest.fixture(scope="module")
def reference():
    """The programs that make docs/reference."""
    folder = str(ROOT / "tools" / "reference")
    before = set(sys.modules)
    sys.path.insert(0, folder)
    import write

    yield write
    sys.path.remove(folder)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
            del sys.modules[name]


def test_the_reference_is_that_of_this_program(reference, tmp_path):
    reference.write(tmp_path)

    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    kept = {p.name: p.read_text(encoding="utf-8") for p in (DOCS / "reference").iterdir()}
    different = sorted(name for name in made | kept if made.get(name) != kept.get(name))
    assert not different, "run make reference"


def test_the_reference_has_every_command_key_and_metric(reference):
    from neve.policy.keys import KEYS, REFUSED

    text = (DOCS / "reference/command-line.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"### neve {name}\n" not in text] == []
    text = (DOCS / "reference/policies.md").read_text(encoding="utf-8")
    assert [name for name in (*KEYS, *REFUSED) if f"| `{name}` |" not in text] == []


def test_troubleshooting_quotes_sentences_that_are_said(reference):
    from neve.model import errors

    said = {sentence for told in reference.errors.sentences().values() for sentence, _ in told}
    said |= {kind.__doc__ for kind in vars(errors).values() if isinstance(kind, type)}
    text = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^> (.*)$", text, re.MULTILINE)

    assert len(quoted) > 15
    assert [sentence for sentence in quoted if sentence not in said] == []

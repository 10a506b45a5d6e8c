"""The recipes of docs/jq.md give something, with jq where it is installed and without it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "jq.md"
RECIPES = re.findall(r"```bash\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
#: Of a lake with one sick table and no failed job.
EXPECTED = {
    "tier": ["lake.db.events"],
    "small_files > 100": [],
    "next_step": ["neve compact lake.db.events"],
    "jq -r '.snapshot_id'": ["1"],
    "job_id != null": [],
    "length": [5],
    "sentence": ["Partition kind=view has 1 small file; 2 are needed to merge."],
    "planned": ["rewrite_data_files"],
    "failed": [],
    ".error": ["There is no table lake.db.nothing."],
}
CONDITION = re.compile(r'select\(\.(\w+) (!=|==|>) ("\w+"|null|\d+)\)')


def evaluate(program, values):
    """As much of jq as the recipes need."""
    for part in program.split(" | "):
        if part == ".[]":
            values = [item for value in values for item in value]
        elif part == "length":
            values = [len(value) for value in values]
        elif found := CONDITION.fullmatch(part):
            name, sign, literal = found[1], found[2], json.loads(found[3])
            test = {"!=": lambda a, b: a != b, "==": lambda a, b: a == b, ">": lambda a, b: a > b}
            values = [value for value in values if test[sign](value[name], literal)]
        else:
            name = re.fullmatch(r"\.(\w+)", part)
            assert name, f"The recipe does {part}, which this test does not know."
            values = [value[name[1]] for value in values]
    return values


def by_jq(words, document):
    done = subprocess.run(["jq", *words], input=document, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_gives_what_it_says(only_looking, run, recipe):
    (expected,) = [value for key, value in EXPECTED.items() if key in recipe]
    neve, jq = ([*shlex.split(part)] for part in recipe.split(" | ", 1))
    document = run(*neve[1:]).stdout

    if shutil.which("jq"):
        assert by_jq(jq[1:], document) == [str(value) for value in expected]
    assert evaluate(jq[-1], [json.loads(document)]) == expected


def test_all_recipes_are_expected():
    assert len(RECIPES) == len(EXPECTED)

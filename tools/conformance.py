"""Write docs/conformance.md: each case, the tests that show it, and on what they show it.

    python tools/conformance.py docs/conformance.md

Everything is read from the tests' own text: their marks, and the values that they are run with.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.conformance_cases import CASES  # noqa: E402

TIERS = ("unit", "edges", "slow", "spark", "attack", "system")
MARK = "pytest.mark.conformance"
PARAMETRIZE = "pytest.mark.parametrize"
HEAD = """# Conformance

Cases that rewrites of tables have to stand, and the tests that show them. Made by
`make conformance` from the marks in `tests/`; the cases are listed in `tests/conformance_cases.py`.
Versions and engines are those that a test names. A dash means that it names none: then tables have
format v2 and are cured by the engine that the plan chooses.
"""


@dataclass(frozen=True)
class Shown:
    """A test that shows a case, with the format versions and engines that it names."""

    case: str
    path: str
    test: str
    versions: tuple[str, ...]
    engines: tuple[str, ...]


def shown_by(path: str, source: str) -> Iterator[Shown]:
    """What the tests of one file show."""
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            for mark in _calls(node, MARK):
                for case in mark.args:
                    assert isinstance(case, ast.Constant), f"{path}: a case must be a plain text"
                    engines, versions = _named(tree, node, "engine"), _named(tree, node, "version")
                    yield Shown(str(case.value), path, node.name, versions, engines)


def _calls(node: ast.FunctionDef, name: str) -> list[ast.Call]:
    return [
        each
        for each in node.decorator_list
        if isinstance(each, ast.Call) and ast.unparse(each.func) == name
    ]


def _named(tree: ast.Module, node: ast.FunctionDef, name: str) -> tuple[str, ...]:
    """Values of a parameter or of keywords of this name, in order, each once."""
    found = dict.fromkeys(
        [*_parameters(tree, node, name), *_keywords(node, name), *_keywords_of_mark(node, name)]
    )
    return tuple(sorted(found))


def _parameters(tree: ast.Module, node: ast.FunctionDef, name: str) -> Iterator[str]:
    for call in _calls(node, PARAMETRIZE):
        names = ast.literal_eval(call.args[0])
        listed = [part.strip() for part in names.split(",")] if isinstance(names, str) else names
        if name not in listed:
            continue
        at = listed.index(name)
        for value in _elements(tree, call.args[1]):
            if len(listed) == 1:
                yield from _text(value)
            elif isinstance(value, ast.Tuple) and len(value.elts) == len(listed):
                yield from _text(value.elts[at])


def _elements(tree: ast.Module, values: ast.expr) -> list[ast.expr]:
    """The values, also where they have a name in the file."""
    if isinstance(values, ast.Name):
        for node in tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == values.id:
                return _elements(tree, node.value)
        return []
    if isinstance(values, ast.Dict):
        return [key for key in values.keys if key is not None]
    return list(values.elts) if isinstance(values, ast.List | ast.Tuple) else []


def _keywords(node: ast.FunctionDef, name: str) -> Iterator[str]:
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            for keyword in call.keywords:
                if keyword.arg == name:
                    yield from _text(keyword.value)


def _keywords_of_mark(node: ast.FunctionDef, name: str) -> Iterator[str]:
    for mark in _calls(node, MARK):
        for keyword in mark.keywords:
            if keyword.arg == f"{name}s":
                for value in _elements(ast.Module([], []), keyword.value):
                    yield from _text(value)


def _text(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Constant):
        yield str(value.value)
    elif isinstance(value, ast.Attribute):
        yield value.attr.lower()


def all_shown(root: Path = ROOT) -> list[Shown]:
    found = []
    for tier in TIERS:
        for file in sorted((root / "tests" / tier).rglob("test_*.py")):
            path = file.relative_to(root).as_posix()
            found += shown_by(path, file.read_text(encoding="utf-8"))
    return found


def page(shown: list[Shown]) -> str:
    by_case: dict[str, list[Shown]] = {}
    for each in shown:
        by_case.setdefault(each.case, []).append(each)
    parts = [HEAD]
    for title, cases in CASES.items():
        lines = [f"## {title}", "", "| case | test | format | engines |", "|---|---|---|---|"]
        for case in cases:
            for number, each in enumerate(by_case.get(case, [])):
                where = f"`{each.path}` {each.test.removeprefix('test_').replace('_', ' ')}"
                versions = ", ".join(f"v{version}" for version in each.versions) or "–"
                engines = ", ".join(each.engines) or "–"
                name = "" if number else case
                lines.append(f"| {name} | {where} | {versions} | {engines} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def main() -> None:
    Path(sys.argv[1]).write_text(page(all_shown()), encoding="utf-8")


if __name__ == "__main__":
    main()

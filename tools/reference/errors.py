"""Every error that Neve raises with a next step, found where the code raises it."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from page_parts import cell, code

import neve
from neve.model import errors
from neve.model.problem_kinds import KINDS, TYPE_PREFIX

SOURCE = Path(neve.__file__).parent
INTRODUCTION = """\
# Errors

Every error is one sentence about what is wrong and one about what to do. In Python it is a
subclass of `neve.model.errors.NeveError`; over HTTP it is a problem document whose `type` is
stable. `…` stands for names and numbers of the case. [Troubleshooting](../troubleshooting.md) has
the common ones with their causes.
"""


def page() -> str:
    told = sentences()
    parts = [INTRODUCTION]
    for name, kind in _tree():
        parts.append(f"## {name}\n")
        parts.append(f"{inspect.getdoc(kind)} {_over_http(kind)}\n")
        for sentence, next_step in sorted(told.get(name, ())):
            parts.append(f"- {cell(sentence)}\n  → {cell(next_step)}\n")
    return "\n".join(parts)


def _tree() -> Iterator[tuple[str, type[errors.NeveError]]]:
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.NeveError):
            yield name, kind


def _over_http(kind: type[errors.NeveError]) -> str:
    status, name = next(KINDS[parent] for parent in kind.__mro__ if parent in KINDS)
    return f"HTTP {status}, {code(TYPE_PREFIX + name)}."


def sentences() -> dict[str, set[tuple[str, str]]]:
    """Sentence and next step of each place that raises an error, by the error's name."""
    names = {name for name, _ in _tree()}
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in names and node.args:
                said = text_of(node.args[0])
                steps = [text_of(k.value) for k in node.keywords if k.arg == "next_step"]
                if said and steps and steps[0]:
                    found[_name(node.func)].add((said, steps[0]))
    return dict(found)


def _name(function: ast.expr) -> str:
    return getattr(function, "id", None) or getattr(function, "attr", "")


def text_of(node: ast.expr) -> str:
    """A text of the code; what is only known when it runs becomes an ellipsis."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (text_of(v) if isinstance(v, ast.Constant) else "…" for v in node.values)
        return "".join(parts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text_of(node.left) + text_of(node.right)
    return ""

"""Every key of neve.yaml, with its type, its default and what the code says about it."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
import typing
from collections.abc import Iterator
from datetime import time
from pathlib import Path
from typing import Any

from page_parts import code, table
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from neve.model.sizes import format_size
from neve.settings import Settings

EXAMPLE = Path(__file__).resolve().parents[2] / "neve.example.yaml"
INTRODUCTION = """\
# Configuration

`neve.yaml` is found by `--config`, by `NEVE_CONFIG`, or in the working directory; the repository's
`neve.example.yaml` shows all of it with its defaults. `${VAR}`, `${VAR:-default}`,
`${VAR:?message}` and `${ENV:VAR}` are replaced from the environment, and a single value may be set
there, too: `NEVE_SPARK__MASTER` is `spark.master`. An unknown key is an error.
"""


def page() -> str:
    parts = [INTRODUCTION, "## At the top\n", _table(_top())]
    for name, field in Settings.model_fields.items():
        section = _model(field.annotation)
        if section is not None:
            parts += _section(name, section)
    return "\n".join(parts)


def _top() -> Iterator[tuple[str, ...]]:
    said = _comments(Settings)
    for name, field in Settings.model_fields.items():
        if _model(field.annotation) is None:
            yield code(name), _kind(field.annotation), _default(field), said[name]


def _section(name: str, model: type[BaseModel]) -> Iterator[str]:
    yield f"## {name}\n"
    yield f"{inspect.getdoc(model)}\n"
    yield _table(_rows(model, "", _example_comments(name)))


def _rows(model: type[BaseModel], prefix: str, shown: dict[str, str]) -> Iterator[tuple[str, ...]]:
    said = _comments(model)
    for name, field in model.model_fields.items():
        key = prefix + (field.alias or name)
        inner = _model(field.annotation)
        if inner is not None:
            yield from _rows(inner, f"{key}.", shown)
            continue
        about = said.get(name) or shown.get(field.alias or name, "")
        yield code(key), _kind(field.annotation), _default(field), about


def _table(rows: Iterator[tuple[str, ...]]) -> str:
    return table(("key", "type", "default", "meaning"), list(rows))


def _model(annotation: Any) -> type[BaseModel] | None:
    candidates = typing.get_args(annotation) or (annotation,)
    found = [c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)]
    is_mapping = typing.get_origin(annotation) in (dict, tuple)
    return found[0] if found and not is_mapping else None


def _kind(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _kind(arguments[0])
    if origin is typing.Literal:
        return ", ".join(code(str(item)) for item in arguments)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_kind(item) for item in arguments if item is not type(None))
    if origin is dict:
        return "mapping"
    if origin is tuple:
        return "list"
    return {str: "text", int: "integer", float: "number", bool: "true or false", time: "time"}.get(
        annotation, getattr(annotation, "__name__", str(annotation))
    )


def _default(field: Any) -> str:
    value = field.default
    if value is PydanticUndefined:
        return "required" if field.default_factory is None else ""
    if value is None or value == ():
        return ""
    if isinstance(value, bool):
        return code(str(value).lower())
    if isinstance(value, int) and value >= 1024 * 1024 and value % 1024 == 0:
        return code(format_size(value).replace(" ", ""))
    return code(str(value))


def _comments(model: type[BaseModel]) -> dict[str, str]:
    """What stands above each field in the code."""
    source = textwrap.dedent(inspect.getsource(model))
    lines = source.splitlines()
    (tree,) = ast.parse(source).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            above = []
            for line in reversed(lines[: node.lineno - 1]):
                if not (match := re.match(r"\s*#: (.*)", line)):
                    break
                above.insert(0, match[1])
            found[node.target.id] = " ".join(above)
    return found


def _example_comments(section: str) -> dict[str, str]:
    """What the example says beside the keys of a section."""
    text = re.sub(r"^# ?", "", EXAMPLE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    blocks = re.findall(rf"^{section}:.*\n((?:[# ]+.*\n)*)", text, re.MULTILINE)
    lines = re.findall(r"^[# ]*([a-z_]+):.*?  # (.*)$", "".join(blocks), re.MULTILINE)
    return {key: f"{said[0].upper()}{said[1:]}." for key, said in lines}

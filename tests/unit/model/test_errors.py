from __future__ import annotations

import inspect
import re

from neve.model import errors


def test_the_drawn_tree_is_the_real_one():
    drawn = re.findall(r"([│├└ ─]*)([A-Z]\w+)(?= {2,}|$)", errors.__doc__ or "", re.MULTILINE)
    parents: list[str] = []
    tree = {}
    for indent, name in drawn:
        depth = len(indent) // 4
        parents[depth:] = [name]
        tree[name] = parents[depth - 1] if depth else "Exception"

    real = {
        name: cls.__bases__[0].__name__
        for name, cls in inspect.getmembers(errors, inspect.isclass)
        if cls.__module__ == errors.__name__
    }
    assert tree == real

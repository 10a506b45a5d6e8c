"""YAML and JSON that people hand in, read within bounds: a short text can mean a very large one.

An alias stands for all that its anchor holds, so that ten lines may stand for a billion values.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import yaml

from neve.model.twins import KeyTwice, without_twins

MAX_BYTES = 2_000_000
#: Values in a document, those that aliases stand for counted each time.
MAX_VALUES = 100_000
MAX_DEPTH = 64
#: The parser in C takes a tenth of the time, where PyYAML was built with it.
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BadDocument(ValueError):
    """The text cannot be used; the message says why, without naming its file."""


def read_bounded(path: Path) -> str:
    """The text of a file that is not too large; raises OSError or ValueError otherwise."""
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise BadDocument(f"is larger than {MAX_BYTES // 1_000_000} MB")
    return content.decode("utf-8")


def parse_yaml(text: str) -> object:
    """The document, or BadDocument with what is wrong and where."""
    return _parsed("YAML", text, _load_yaml)


#: A text in quotes, which may hold two slashes, or a comment.
_QUOTED_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*')


def without_comments(text: str) -> str:
    """JSON without what stands after two slashes, as people write it into configurations."""
    return _QUOTED_OR_COMMENT.sub(lambda found: "" if found[0].startswith("//") else found[0], text)


def parse_json(text: str) -> object:
    return _parsed("JSON", text, partial(json.loads, object_pairs_hook=without_twins))


def _parsed(kind: str, text: str, load: Callable[[str], object]) -> object:
    try:
        return load(text)
    except BadDocument:
        raise
    except KeyTwice as error:
        raise BadDocument(str(error)) from error
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise BadDocument(f"is not {kind}{line}") from error
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        # A date that there is not, a number of many thousand digits, a tag that does not fit.
        raise BadDocument(f"is not {kind}: {str(error).splitlines()[0][:200]}") from error
    except RecursionError as error:
        raise BadDocument(f"is nested deeper than {kind} is read") from error


def _load_yaml(text: str) -> object:
    _refuse_what_grows(text)
    loader = Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _refuse_twins(root)
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _refuse_twins(root: yaml.Node) -> None:
    """As JSON is refused; a merged mapping may have keys that are said again on purpose."""
    pending, seen = [root], set[int]()
    while pending:
        node = pending.pop()
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
            continue
        said = [(key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(said) != len(set(said)):
            ((_, name), _), *_ = Counter(said).most_common(1)
            raise BadDocument(
                f"has the key {name} twice, line {node.start_mark.line + 1} and below"
            )
        pending += [part for pair in node.value for part in pair]


def _refuse_what_grows(text: str) -> None:
    """Look at the events of the parser alone, which take no more room than the text."""
    measure = _Measure()
    for event in yaml.parse(text, Loader):
        measure.take(event)
        if len(measure.open_nodes) > MAX_DEPTH:
            raise BadDocument(f"is nested deeper than {MAX_DEPTH} levels")
        if measure.values > MAX_VALUES:
            raise BadDocument(f"stands for more than {MAX_VALUES:,} values, with its aliases")


class _Measure:
    """Counts values as they would be with every alias written out."""

    def __init__(self) -> None:
        self.values = 0
        #: Lists and mappings that have begun, with the count before each.
        self.open_nodes: list[tuple[str | None, int]] = []
        self._sizes: dict[str, int] = {}

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._sizes:
                raise BadDocument(f"holds itself, by its alias *{event.anchor}")
            self.values += self._sizes[event.anchor]
        elif isinstance(event, yaml.CollectionStartEvent):
            self.open_nodes.append((event.anchor, self.values))
            self.values += 1
        elif isinstance(event, yaml.ScalarEvent):
            self.values += 1
            self._close(event.anchor, self.values - 1)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(*self.open_nodes.pop())

    def _close(self, anchor: str | None, before: int) -> None:
        if anchor is not None:
            self._sizes[anchor] = self.values - before

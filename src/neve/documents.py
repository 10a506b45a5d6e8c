"""Values as JSON documents, and back, checked against their types."""

from __future__ import annotations

import json
import math
from typing import Any, TypeVar

from pydantic import TypeAdapter

from neve.model.errors import InputError
from neve.model.table import TableRef, read_name

Value = TypeVar("Value")
_TABLE_KEYS = {"catalog", "namespace", "name"}
_FLOAT = "$float"
#: Names under which documents have ids of 64 bits.
LONG_IDS = frozenset(
    (
        "snapshot_id",
        "parent_id",
        "snapshot_before",
        "snapshot_after",
        "added_snapshot_id",
        "current_snapshot_id",
        "first_row_id",
        "expected_head",
    )
)
_NO_NUMBERS = ("NaN", "Infinity", "-Infinity")


_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(of: Any) -> TypeAdapter[Any]:
    if of not in _adapters:
        _adapters[of] = TypeAdapter(of)
    return _adapters[of]


def to_document(value: Any) -> Any:
    """The value as plain JSON types; a table is written as its name."""
    return strict(_names_of_tables(_adapter(type(value)).dump_python(value, mode="json")))


def strict(document: Any) -> Any:
    """The document with `{"$float": "NaN"}` and the like, for which JSON has no numbers."""
    if isinstance(document, float) and not math.isfinite(document):
        return {_FLOAT: json.dumps(document)}
    if isinstance(document, dict):
        return {key: strict(item) for key, item in document.items()}
    if isinstance(document, list | tuple):
        return [strict(item) for item in document]
    return document


def with_text_ids(document: Any) -> Any:
    """The document with ids of 64 bits as texts: jq and JavaScript round numbers beyond 2^53."""
    if isinstance(document, dict):
        return {
            key: str(item) if key in LONG_IDS and type(item) is int else with_text_ids(item)
            for key, item in document.items()
        }
    return [with_text_ids(item) for item in document] if isinstance(document, list) else document


def to_text(value: Any) -> str:
    """The value as JSON text that is the same for equal values."""
    return canonical_text(to_document(value))


def canonical_text(document: Any) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"))


def from_document(of: type[Value], document: Any) -> Value:
    """A value from plain JSON types; raises ValueError where they do not fit."""
    value: Value = _adapter(of).validate_json(json.dumps(_tables_of_names(document)))
    return value


def from_text(of: type[Value], text: str) -> Value:
    return from_document(of, json.loads(text))


def _names_of_tables(document: Any) -> Any:
    if isinstance(document, dict):
        if document.keys() == _TABLE_KEYS:
            return str(
                TableRef(document["catalog"], tuple(document["namespace"]), document["name"])
            )
        return {key: _names_of_tables(item) for key, item in document.items()}
    if isinstance(document, list):
        return [_names_of_tables(item) for item in document]
    return document


def _tables_of_names(document: Any) -> Any:
    if isinstance(document, dict):
        if document.keys() == {_FLOAT} and document[_FLOAT] in _NO_NUMBERS:
            return float(document[_FLOAT])
        return {
            key: _table_parts(item)
            if key == "table" and isinstance(item, str)
            else _tables_of_names(item)
            for key, item in document.items()
        }
    if isinstance(document, list):
        return [_tables_of_names(item) for item in document]
    return document


def _table_parts(name: str) -> dict[str, Any]:
    try:
        catalog, *namespace, table = read_name(name)
    except InputError as error:
        raise ValueError(error.message) from error
    return {"catalog": catalog, "namespace": namespace, "name": table}

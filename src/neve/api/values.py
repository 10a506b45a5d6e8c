"""Parts that several requests and answers have: texts, names, moments, cursors, documents."""

from __future__ import annotations

import base64
import binascii
import json
from datetime import datetime
from typing import Annotated, Any
from unicodedata import category

from fastapi import Path, Query
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from neve.api.paths import unescaped
from neve.api.problems import Refusal
from neve.documents import to_document
from neve.model.job import MAX_PRIORITY
from neve.model.table import MAX_NAME_LENGTH, TableRef

#: Surrogates are no characters, and controls would forge lines of a log.
UNUSABLE = frozenset(("Cc", "Cs"))
LARGEST_LONG = 2**63 - 1


def _clean(text: str) -> str:
    if any(category(character) in UNUSABLE for character in text):
        raise ValueError("controls and surrogates cannot be used here")
    return text


def text_of(length: int) -> Any:
    """The type of a text of at most this many characters, all of which can be seen."""
    return Annotated[str, Field(min_length=1, max_length=length), AfterValidator(_clean)]


Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME_LENGTH), AfterValidator(_clean)]
ShortText = Annotated[str, Field(max_length=256), AfterValidator(_clean)]
LongText = Annotated[str, Field(min_length=1, max_length=100_000), AfterValidator(_clean)]


#: One part of a path, which holds slashes where they are sent as %2F.
PathPart = Annotated[str, Path(min_length=1, max_length=256), AfterValidator(unescaped)]
TablePath = Annotated[
    str,
    Path(
        min_length=1,
        max_length=MAX_NAME_LENGTH,
        description="catalog.namespace.table, or namespace.table in the default catalog; "
        "unusual names in backticks, and a slash as %2F.",
    ),
    AfterValidator(unescaped),
]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
CursorQuery = Annotated[
    str | None,
    Query(max_length=2048, description="`next_cursor` of the page before."),
]
#: Of a body: a text that looks like one is refused, "yes" before anything is deleted by it.
Flag = Annotated[bool, Strict()]
SnapshotId = Annotated[int, Field(ge=0, le=LARGEST_LONG)]


class Body(BaseModel):
    """A request's body: what is not known is an error, since nothing is accepted and ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Asking(Body):
    """Who asks, and how urgent it is."""

    requested_by: ShortText = ""
    tenant: Annotated[ShortText, Field(description="Workers serve tenants in turn.")] = ""
    priority: Annotated[int, Strict()] = Field(default=0, ge=-MAX_PRIORITY, le=MAX_PRIORITY)


#: On the wire it ends with Z: all times are UTC.
Time = datetime


def make_cursor(*values: object) -> str:
    """Where a page ended, as a text that nobody needs to understand."""
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def read_cursor(cursor: str, *kinds: type) -> list[Any]:
    """What `make_cursor` was given; a text that it did not make is refused."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if [type(value) for value in values] == list(kinds) and all(map(_fits, values)):
            return list(values)
    except (ValueError, TypeError, binascii.Error, RecursionError):
        pass
    raise Refusal(
        422, "cursor", "The cursor is not one of this list.", "Begin again without a cursor."
    )


def _fits(value: object) -> bool:
    """Whether a store can be asked for it."""
    return not isinstance(value, int) or abs(value) <= LARGEST_LONG


class _DocumentSchema(GenerateJsonSchema):
    """Documents name tables, and have texts for numbers that JSON lacks."""

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        if schema["cls"] is TableRef:
            return {"type": "string"}
        return super().dataclass_schema(schema)

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        made = super().tuple_schema(schema)
        # Tools differ about items that are each of a type of their own.
        made.pop("prefixItems", None)
        return made

    def float_schema(self, schema: core_schema.FloatSchema) -> JsonSchemaValue:
        texts = {
            "type": "object",
            "properties": {"$float": {"enum": ["NaN", "Infinity", "-Infinity"]}},
            "required": ["$float"],
        }
        return {"anyOf": [{"type": "number"}, texts]}


def document_of(kind: Any) -> Any:
    """The type of an answer that is a value of the model, as a document."""
    schema = TypeAdapter(kind).json_schema(mode="serialization", schema_generator=_DocumentSchema)
    defs = schema.pop("$defs", {})
    return Annotated[
        kind,
        PlainSerializer(to_document, return_type=Any),
        WithJsonSchema(_inlined(schema, defs), mode="serialization"),
    ]


def _inlined(part: Any, defs: dict[str, Any]) -> Any:
    if isinstance(part, list):
        return [_inlined(item, defs) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        return _inlined(defs[part["$ref"].removeprefix("#/$defs/")], defs)
    return {key: _inlined(value, defs) for key, value in part.items()}

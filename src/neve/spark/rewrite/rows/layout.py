"""The table's wishes, understood: schema, name mapping, how files are written, their statistics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from neve.model.errors import RowsUnsupported
from neve.model.facts import NAME_MAPPING_PROPERTY
from neve.model.rewrite import TableLayout
from neve.parquet.assembly.encode import EncodeOptions
from neve.parquet.assembly.wanted import WantedSchema, wanted_schema
from neve.rows.arrow import arrow_schema
from neve.rows.encode import WriterOptions, writer_options
from neve.rows.metric_modes import MetricsMode, metric_modes
from neve.rows.names import NameMapping, in_files, parse_name_mapping
from neve.rows.schema import ROW_ID, UNKNOWN, Field, Schema, parse_schema
from neve.spark.rewrite.rows.kinds import FileKinds

FIRST_FORMAT_WITH_LINEAGE: Final = 3
#: Rows are proven with their places, in a column of this name.
POSITION_NAME: Final = "_pos"
CODEC_PROPERTY: Final = "write.parquet.compression-codec"


@dataclass(frozen=True, slots=True)
class RowLayout:
    """What rows of the table look like, and how they are written."""

    #: The table's schema, and the same with row ids where files must hold them.
    schema: Schema
    stored: Schema
    wanted: WantedSchema
    mapping: NameMapping | None
    options: WriterOptions
    #: The one codec that the table asks for, if it asks for one.
    only_codec: str | None
    modes: Mapping[int, MetricsMode]
    #: For the footer, in which tools look for it.
    schema_json: str
    #: The stored columns by id, and what files of the table have been like so far.
    fields: Mapping[int, Field]
    kinds: FileKinds = field(repr=False, compare=False)

    @property
    def has_lineage(self) -> bool:
        """Whether files hold row ids."""
        return self.stored is not self.schema

    @property
    def encoding(self) -> EncodeOptions:
        """How chunks are encoded. Row ids mostly follow each other, and differences are small."""
        options = self.options
        return EncodeOptions(
            options.compression,
            options.compression_level,
            options.page_bytes,
            options.page_rows,
            options.dictionary_bytes,
            encodings={ROW_ID: "DELTA_BINARY_PACKED"} if self.has_lineage else {},
        )


def row_layout(layout: TableLayout) -> RowLayout:
    """Understand the table's wishes; what is not honoured is refused."""
    properties = tuple(sorted(layout.properties.items()))
    return _understood(layout.format_version, layout.schema, layout.sort_order, properties)


# A worker runs many tasks of one table.
@lru_cache(maxsize=4)
def _understood(
    format_version: int,
    schema_json: str,
    sort_order_json: str,
    all_properties: tuple[tuple[str, str], ...],
) -> RowLayout:
    properties = dict(all_properties)
    schema = parse_schema(schema_json)
    if any(one.type.name == UNKNOWN for _, one in schema.walk()):
        raise RowsUnsupported("Columns of type unknown are left to Iceberg.")
    if any(one.name == POSITION_NAME for one in schema.fields):
        raise RowsUnsupported("A column of the table has the name of a row's position.")
    stored = _with_lineage(schema) if format_version >= FIRST_FORMAT_WITH_LINEAGE else schema
    options = writer_options(properties)
    if options.data_page_version != "1.0":
        raise RowsUnsupported("Data pages of version 2 are left to Iceberg.")
    mapping = properties.get(NAME_MAPPING_PROPERTY)
    names = parse_name_mapping(mapping) if mapping else None
    sort_order: dict[str, Any] = json.loads(sort_order_json)
    fields = {one.id: one for one in stored.fields}
    return RowLayout(
        schema,
        stored,
        wanted_schema(_as_written(stored)),
        names,
        options,
        options.compression if CODEC_PROPERTY in properties else None,
        metric_modes(stored, properties, sort_order),
        schema_json,
        fields,
        FileKinds(fields, names),
    )


def _as_written(schema: Schema) -> Any:
    columns = arrow_schema(schema)
    spelled = zip(columns, in_files(columns.names), strict=True)
    return pa.schema([column.with_name(name) for column, name in spelled])


def _with_lineage(schema: Schema) -> Schema:
    stored = schema.with_lineage()
    names = [one.name for one in stored.fields]
    if len(set(names)) < len(names):
        raise RowsUnsupported("A column of the table has the name of a row's id.")
    return stored

"""The schema that an assembled file is to have."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from neve.model.errors import ParquetUnsupported
from neve.parquet.assembly.columns import Column, by_field_id, columns_of
from neve.parquet.footer import read_footer
from neve.parquet.layout import Physical
from neve.parquet.schema import read_schema
from neve.storage.readers import MemoryReader

#: How Iceberg asks for its types to be stored; what is written must agree with the schema.
STORAGE_OPTIONS: Final[dict[str, Any]] = {
    "version": "2.6",
    "store_schema": False,
    "store_decimal_as_integer": True,
    "use_compliant_nested_type": True,
    "write_time_adjusted_to_utc": False,
}


@dataclass(frozen=True, slots=True)
class WantedSchema:
    """Columns with field ids on every level, for Arrow and as the footer spells them."""

    arrow: Any
    raw: bytes = field(repr=False)
    columns: tuple[Column, ...]
    #: The ids of the top-level columns, in order.
    top_field_ids: tuple[int, ...]

    def part(self, tops: tuple[int, ...]) -> Any:
        """The Arrow schema of some of the top-level columns."""
        return pa.schema([self.arrow.field(top) for top in tops])


def wanted_schema(arrow: Any) -> WantedSchema:
    """Understand an Arrow schema whose fields carry `PARQUET:field_id`."""
    raw = raw_schema(arrow)
    schema = read_schema(raw)
    if not schema.leaves:
        raise ParquetUnsupported("A schema without columns cannot be written.")
    if schema.without_field_id:
        raise ParquetUnsupported(f"Column {schema.without_field_id[0]} has no field id.")
    columns = columns_of(raw)
    by_field_id(columns, "The wanted schema")
    for column in columns:
        if column.value.iceberg_type is None or column.value.physical == Physical.INT96:
            raise ParquetUnsupported(f"Column {column.name} has a type that is not assembled.")
    top_field_ids = tuple(int(column.metadata[b"PARQUET:field_id"]) for column in arrow)
    return WantedSchema(arrow, raw, columns, top_field_ids)


def raw_schema(arrow: Any) -> bytes:
    """The schema as a footer spells it."""
    # Whatever writes the values also says how they are stored, so the two cannot disagree.
    sink = pa.BufferOutputStream()
    try:
        pq.ParquetWriter(sink, arrow, **STORAGE_OPTIONS).close()
    except pa.ArrowException as error:
        raise ParquetUnsupported(f"The wanted schema cannot be written: {error}.") from error
    return read_footer(MemoryReader(sink.getvalue().to_pybytes())).schema.raw

"""Files whose identity partition columns hold other values than the partition that they are of.

Iceberg's reader shows the partition's value whatever a file holds, and what it rewrites has lost
the file's own, which pyiceberg and others show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neve.model.errors import RowsError
from neve.model.groups import JsonValue
from neve.rows.defaults import default_value
from neve.rows.evolve import evolve
from neve.rows.names import NameMapping
from neve.rows.schema import Field, Schema
from neve.spark.rewrite.rows.kinds import FileKinds
from neve.storage.as_file import AsFile
from neve.storage.readers import Reader


def why_of_another(
    reader: Reader, told: Mapping[int, JsonValue], fields: Sequence[Field], mapping: NameMapping
) -> str | None:
    """Why the file is not known to hold these values in these columns, or None."""
    try:
        with pq.ParquetFile(pa.PythonFile(AsFile(lambda: reader), mode="r")) as file:
            names = FileKinds({}, mapping).of(file.schema_arrow).names
            # What the file does not hold is the partition's value for everybody.
            for field in (field for field in fields if field.id in names):
                _require(file, names[field.id], field, told[field.id], mapping)
    except RowsError as error:
        return f"{error.message[:1].lower()}{error.message[1:].rstrip('.')}"
    except pa.ArrowException as error:
        return f"its partition columns cannot be read: {str(error).splitlines()[0]}"
    return None


def _require(file: Any, name: str, field: Field, value: JsonValue, mapping: NameMapping) -> None:
    constants = {field.id: default_value(field.type, value)}
    for table in _row_groups(file, name):
        evolve(table, Schema((field,)), mapping, constants)


def _row_groups(file: Any, name: str) -> Iterator[Any]:
    """One value over and over is a few bytes of a dictionary's."""
    for ordinal in range(file.metadata.num_row_groups):
        yield file.read_row_group(ordinal, columns=[name], use_threads=False)

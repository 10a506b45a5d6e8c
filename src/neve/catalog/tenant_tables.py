"""Tables that are made, written and read through the database operations."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pyiceberg import exceptions as iceberg
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import parse_transform
from pyiceberg.types import BinaryType, IcebergType, NestedField, TimeType, UUIDType

from neve.catalog.appending import PyicebergTable, open_table
from neve.catalog.connect import Catalogs
from neve.catalog.embedded import is_embedded
from neve.catalog.errors import failures, first_line, table_errors
from neve.catalog.travelling import source_of
from neve.model.database import Column, NewTable
from neve.model.errors import CatalogError, InputError, NeveError, TableExists
from neve.model.query import TableSource
from neve.model.table import TableRef

#: Types whose rows pyiceberg cannot group by a transform.
UNWRITABLE: dict[str, tuple[type[IcebergType], ...]] = {
    "identity": (UUIDType,),
    "bucket": (TimeType,),
    "truncate": (BinaryType,),
}
#: Not with the prefix of Neve, since that is for policies.
CREATION_ID = "creation-request-id"


class CatalogTables:
    """The tables of the configured catalogs, without an engine."""

    def __init__(self, catalogs: Catalogs) -> None:
        self._catalogs = catalogs

    def open(self, table: TableRef) -> PyicebergTable:
        return open_table(table, self._catalogs.writable(table.catalog))

    def create(self, table: TableRef, new: NewTable) -> None:
        """Make the table, and its namespace where that is missing."""
        schema = iceberg_schema(new)
        spec = iceberg_spec(new, schema)
        self._make_folder(table.catalog)
        catalog = self._catalogs.writable(table.catalog)
        creation_id = uuid.uuid4().hex
        try:
            _make_namespace(catalog, table.namespace)
            catalog.create_table(
                (*table.namespace, table.name),
                schema,
                partition_spec=spec,
                properties={**new.properties, CREATION_ID: creation_id},
            )
        except iceberg.TableAlreadyExistsError as error:
            if not self._was_made(table, creation_id):
                raise TableExists(
                    f"Table {table.name} exists already.",
                    next_step='Say "if_not_exists": true, or take another name.',
                ) from error
        except failures() as error:
            if not self._was_made(table, creation_id):
                raise CatalogError(
                    f"Table {table} could not be made: {first_line(error)}"
                ) from error

    def _was_made(self, table: TableRef, creation_id: str) -> bool:
        """An error tells little: whether the table is ours is written in it."""
        catalog = self._catalogs.writable(table.catalog)
        try:
            with table_errors(table):
                found = catalog.load_table((*table.namespace, table.name))
        except NeveError:
            return False
        return found.properties.get(CREATION_ID) == creation_id

    def _make_folder(self, catalog: str) -> None:
        """A catalog in a file of this machine begins with its first table."""
        properties = self._catalogs.properties(catalog)
        if is_embedded(properties):
            named = properties["uri"].removeprefix("sqlite:///").partition("?")[0]
            Path(named).parent.mkdir(parents=True, exist_ok=True)

    def source(self, table: TableRef) -> TableSource:
        return source_of(table, self._catalogs.load(table))


def _make_namespace(catalog: Catalog, namespace: tuple[str, ...]) -> None:
    with suppress(iceberg.NamespaceAlreadyExistsError):
        catalog.create_namespace(namespace)


def iceberg_schema(new: NewTable) -> Schema:
    ids = itertools.count(1)
    fields = [_field_document(column, ids) for column in new.columns]
    return Schema(*(NestedField.model_validate(field) for field in fields))


def _field_document(column: Column, ids: Iterator[int]) -> dict[str, object]:
    document = {"id": next(ids), "name": column.name, "required": column.required}
    return {**document, "type": _type_document(column, ids)}


def _type_document(column: Column, ids: Iterator[int]) -> str | dict[str, object]:
    """A type as metadata files write it."""
    if not column.parts:
        return column.type
    if column.type == "struct":
        return {"type": "struct", "fields": [_field_document(f, ids) for f in column.parts]}
    document: dict[str, object] = {"type": column.type}
    for part in column.parts:
        document[f"{part.name}-id"] = next(ids)
        document[part.name] = _type_document(part, ids)
        if part.name != "key":
            document[f"{part.name}-required"] = part.required
    return document


def iceberg_spec(new: NewTable, schema: Schema) -> PartitionSpec:
    fields = []
    for number, part in enumerate(new.partitions):
        transform = parse_transform(part.transform)
        source = schema.find_field(part.column)
        kind = part.transform.partition("[")[0]
        is_unwritable = isinstance(source.field_type, UNWRITABLE.get(kind, ()))
        if is_unwritable or not transform.can_transform(source.field_type):
            raise InputError(
                f"Column {part.column} of type {source.field_type} cannot be partitioned by "
                f"{part.transform}."
            )
        fields.append(
            PartitionField(
                source.field_id,
                PARTITION_FIELD_ID_START + number,
                transform,
                _partition_name(part.column, part.transform, number, schema),
            )
        )
    return PartitionSpec(*fields)


def _partition_name(column: str, transform: str, number: int, schema: Schema) -> str:
    """Of an identity the column's own name, as every engine expects it."""
    if transform == "identity":
        return column
    kind = transform.partition("[")[0]
    name = f"{column}_{kind}"
    taken = {field.name for field in schema.fields}
    return f"{name}_{number}" if name in taken else name

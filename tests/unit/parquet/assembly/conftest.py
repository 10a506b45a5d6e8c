"""Sources in memory, and an assembly of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.parquet.assembly.decide import plan_assembly
from neve.parquet.assembly.plan import AssemblyLimits, AssemblyPlan
from neve.parquet.assembly.result import AssemblyResult
from neve.parquet.assembly.source import load_assembly_source
from neve.parquet.assembly.wanted import wanted_schema
from neve.parquet.assembly.write import write_assembly
from neve.storage.readers import MemoryReader

#: Small pages are joined here, so that small files show it.
JOINS_ALL = AssemblyLimits(min_page_bytes=1)


class ClosableMemory(MemoryReader):
    def close(self) -> None:
        """There is nothing to give back."""


@dataclass(frozen=True)
class Assembled:
    plan: AssemblyPlan
    result: AssemblyResult
    data: bytes

    @property
    def table(self) -> pa.Table:
        return pq.ParquetFile(io.BytesIO(self.data)).read()

    def kinds(self, group: int = 0) -> dict[str, str]:
        columns = self.plan.wanted.columns
        chunks = self.plan.groups[group].chunks
        return {
            column.name: chunk.kind.value for column, chunk in zip(columns, chunks, strict=True)
        }


def number(schema: pa.Schema) -> pa.Schema:
    """The schema with field ids on every level."""
    counter = iter(range(1, 10_000))
    return pa.schema([_numbered(field, counter) for field in schema])


def _numbered(field: pa.Field, counter: Any) -> pa.Field:
    own = {b"PARQUET:field_id": str(next(counter)).encode()}
    of = field.type
    if pa.types.is_struct(of):
        of = pa.struct([_numbered(child, counter) for child in of])
    elif pa.types.is_list(of):
        of = pa.list_(_numbered(of.value_field.with_name("element"), counter))
    elif pa.types.is_map(of):
        of = pa.map_(_numbered(of.key_field, counter), _numbered(of.item_field, counter))
    return pa.field(field.name, of, field.nullable, metadata=own)


def write_file(table: pa.Table, **options: Any) -> bytes:
    """A file as Iceberg asks for its types to be stored."""
    sink = io.BytesIO()
    usual = {"store_schema": False, "store_decimal_as_integer": True, "compression": "zstd"}
    pq.write_table(table, sink, **{**usual, **options})
    return sink.getvalue()


def assemble_files(
    files: Sequence[bytes],
    schema: pa.Schema,
    limits: AssemblyLimits = JOINS_ALL,
    *,
    changed: Mapping[int, frozenset[int]] | None = None,
    mapped_ids: Mapping[tuple[str, ...], int] | None = None,
    **options: Any,
) -> Assembled:
    readers = {f"f{index}": ClosableMemory(data, f"f{index}") for index, data in enumerate(files)}
    sources = [
        load_assembly_source(
            reader,
            changed=(changed or {}).get(index, frozenset()),
            mapped_ids=mapped_ids or {},
        )
        for index, reader in enumerate(readers.values())
    ]
    plan = plan_assembly(sources, wanted_schema(schema), limits)
    sink = io.BytesIO()
    result = write_assembly(plan, readers.__getitem__, sink, **options)
    return Assembled(plan, result, sink.getvalue())


def in_new_order(assembled: Assembled, tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of the sources, as the result says that they lie in the new file."""
    by_path = {f"f{index}": table for index, table in enumerate(tables)}
    ranges = assembled.result.ranges
    return pa.concat_tables([by_path[one.path].slice(one.first_row, one.rows) for one in ranges])


@pytest.fixture(scope="session")
def assemble() -> Callable[..., Assembled]:
    return assemble_files

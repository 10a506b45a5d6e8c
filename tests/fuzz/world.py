"""A table and those who write to it: Spark, pyiceberg and DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table
from tests.fuzz.histories import COLUMNS, History
from tests.fuzz.values import rows_of
from tests.spark.conftest import Lake

from neve.model.table import TableRef

FIRST_WITH_LINEAGE = 3


@dataclass
class World:
    """One table of a history, and what writers must remember of it."""

    lake: Lake
    catalog: Catalog
    folder: Path
    table: TableRef
    next_id: int = 0
    #: Names for columns and refs that no other step takes.
    numbers: count[int] = field(default_factory=count)
    #: What was done, and what Iceberg refused.
    done: Counter[str] = field(default_factory=Counter)

    def loaded(self) -> Table:
        """The table as pyiceberg sees it now."""
        return self.catalog.load_table((*self.table.namespace, self.table.name))

    @property
    def version(self) -> int:
        return self.loaded().metadata.format_version

    def registered_again(self, name: str) -> World:
        """The same state of the table under another name, to be changed by itself."""
        other = self.lake.ref(name)
        key = (*other.namespace, other.name)
        self.catalog.register_table(key, self.loaded().metadata_location)
        return replace(self, table=other)

    def sql(self, statement: str) -> Any:
        return self.lake.sql(statement.format(t=self.table))

    def refresh(self) -> None:
        """Let Spark see what others wrote."""
        self.sql("REFRESH TABLE {t}")

    def new_rows(self, choose: random.Random) -> pa.Table:
        rows = choose.choice((1, 3, 10, 10, 20, 20, 400))
        first, self.next_id = self.next_id, self.next_id + rows
        return rows_of(choose, self.loaded().schema().as_arrow(), first, rows)

    def frame(self, rows: pa.Table) -> Any:
        """The rows for Spark, without what only pyiceberg reads of a schema."""
        plain = pa.schema([field.remove_metadata() for field in rows.schema])
        return self.lake.session.createDataFrame(rows.cast(plain))


def make_world(lake: Lake, catalog: Catalog, folder: Path, history: History, name: str) -> World:
    columns = ", ".join(["id BIGINT", *(f"{n} {COLUMNS[n]}" for n in history.all_columns)])
    table = lake.create(columns, name=name, by=history.by, version=history.version)
    return World(lake, catalog, folder, table)


def write_by_duckdb(world: World, choose: random.Random, rows: pa.Table) -> str:
    """A Parquet file by a writer that knows nothing of Iceberg; its columns have no ids."""
    path = world.folder / f"{world.table.name}-{next(world.numbers)}.parquet"
    codec = choose.choice(("zstd", "snappy", "uncompressed"))
    version = choose.choice(("V1", "V1", "V2"))
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.register("rows", rows)
        db.execute(
            f"COPY (SELECT * FROM rows) TO '{path}' "
            f"(FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version})"
        )
    return str(path)

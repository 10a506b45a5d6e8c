"""Tables as they were loaded, in a form that another process reads them by."""

from __future__ import annotations

from collections.abc import Mapping

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io import load_file_io
from pyiceberg.table import StaticTable, Table
from pyiceberg.table.metadata import TableMetadataUtil

from neve.catalog.errors import table_errors
from neve.model.query import TableSource
from neve.model.table import TableRef

#: What reaches files. Everything else that a catalog is opened with is for the catalog alone.
STORAGE_PREFIXES = ("s3.", "gcs.", "adls.", "hdfs.", "client.", "py-io-impl")
#: Where somebody else signs requests to the storage, they want to know who asks.
SIGNER = "s3.signer"


def source_of(ref: TableRef, loaded: Table) -> TableSource:
    """All that reading the table takes, and no secret of its catalog."""
    return TableSource(
        ref,
        loaded.metadata.model_dump_json(),
        loaded.metadata_location,
        storage_properties(loaded.io.properties),
    )


def storage_properties(properties: Mapping[str, str]) -> dict[str, str]:
    is_signed = SIGNER in properties
    return {
        key: str(value)
        for key, value in properties.items()
        if is_signed or key.startswith(STORAGE_PREFIXES)
    }


def import_readers() -> None:
    """All that reading rows imports, for who reads in processes that are forked from this one."""
    import pyiceberg.io.pyarrow  # noqa: F401


def table_of(source: TableSource) -> Table:
    """The table again, without a catalog."""
    with table_errors(source.table):
        metadata = TableMetadataUtil.parse_raw(source.metadata)
        return StaticTable(
            identifier=(*source.table.namespace, source.table.name),
            metadata=metadata,
            metadata_location=source.metadata_location,
            io=load_file_io(dict(source.properties), source.metadata_location),
            catalog=NoopCatalog(source.table.catalog),
        )

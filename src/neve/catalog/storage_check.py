"""Whether the storage behind a catalog lets us in: one small call, as tables are read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from neve.catalog.connect import Catalogs
from neve.catalog.errors import failures, first_line
from neve.model.errors import CatalogError
from neve.storage.access import storage_as_pyiceberg

S3_SCHEMES = ("s3://", "s3a://", "s3n://")
MAX_NAMESPACES = 20


def check_storage(catalogs: Catalogs, name: str) -> str | None:
    """What was read, or None where nothing lies in an object store; raises where that refuses."""
    properties = catalogs.properties(name)
    warehouse = properties.get("warehouse", "")
    is_remote = warehouse.startswith(S3_SCHEMES) or "s3.endpoint" in properties
    if not is_remote:
        return None
    catalog = catalogs.catalog(name)
    what = f"Listing tables of catalog {name}"
    try:
        for identifier in islice(_tables(catalogs, name), 1):
            what = f"Reading table {'.'.join(identifier)}"
            table = catalog.load_table(identifier)
            what = f"GetObject of {table.metadata_location}"
            with table.io.new_input(table.metadata_location).open() as file:
                file.read(1)
            return f"read {table.metadata_location}"
        if not warehouse.startswith(S3_SCHEMES):
            return "there is no table to read yet"
        what = f"ListObjectsV2 of {warehouse}"
        bucket, _, prefix = warehouse.partition("://")[2].partition("/")
        client = storage_as_pyiceberg(properties).s3_client()
        client.list_objects_v2(Bucket=bucket, Prefix=prefix, MaxKeys=1)
    except failures() as error:
        raise _refused(name, what, error) from error
    return f"listed {warehouse}"


def _tables(catalogs: Catalogs, name: str) -> Iterator[tuple[str, ...]]:
    for namespace in catalogs.namespaces(name)[:MAX_NAMESPACES]:
        yield from catalogs.catalog(name).list_tables(namespace)


def _refused(name: str, what: str, error: BaseException) -> CatalogError:
    return CatalogError(
        f"{what} failed: {first_line(error)}",
        next_step=f"Check s3.endpoint, s3.access-key-id and s3.secret-access-key of "
        f"catalogs.{name} in neve.yaml.",
    )

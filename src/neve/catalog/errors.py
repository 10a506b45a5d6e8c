"""Errors of pyiceberg and of what stands below it, in Neve's own words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError
from pyiceberg import exceptions as iceberg
from requests import RequestException
from sqlalchemy.exc import SQLAlchemyError

from neve.model.errors import CatalogError, ConfigError, NeveError, TableNotFound, TableUnreadable
from neve.model.table import TableRef

UNREACHABLE = (
    RequestException,
    SQLAlchemyError,
    ConnectionError,
    TimeoutError,
    iceberg.RESTError,
    iceberg.ServiceUnavailableError,
    iceberg.ServerError,
    iceberg.UnauthorizedError,
    iceberg.AuthorizationExpiredError,
    iceberg.ForbiddenError,
    iceberg.OAuthError,
)
UNREADABLE = (
    OSError,
    ValidationError,
    ValueError,
    KeyError,
    EOFError,
    IndexError,
    iceberg.ValidationError,
    iceberg.ResolveError,
)


@contextmanager
def catalog_errors(catalog: str) -> Iterator[None]:
    """Errors of talking to a catalog."""
    try:
        yield
    except NeveError:
        raise
    except iceberg.NotInstalledError as error:
        raise ConfigError(
            f"Catalog {catalog} needs a package that is not installed: {first_line(error)}"
        ) from error
    except UNREACHABLE as error:
        raise CatalogError(
            f"Catalog {catalog} cannot be reached: {first_line(error)}",
            next_step=f"Check catalogs.{catalog} in neve.yaml, and that the catalog is running.",
        ) from error
    except (OSError, ValueError, KeyError) as error:
        raise CatalogError(
            f"Catalog {catalog} cannot be opened: {first_line(error)}",
            next_step=f"Check catalogs.{catalog} in neve.yaml.",
        ) from error


@contextmanager
def table_errors(table: TableRef) -> Iterator[None]:
    """Errors of reading one table's metadata."""
    try:
        yield
    except NeveError:
        raise
    except (iceberg.NoSuchTableError, iceberg.NoSuchNamespaceError) as error:
        raise TableNotFound(
            f"There is no table {table}.", next_step=f"List tables: neve tables '{table.catalog}.*'"
        ) from error
    except UNREACHABLE as error:
        raise CatalogError(
            f"Catalog {table.catalog} cannot be reached: {first_line(error)}",
            next_step=f"Check catalogs.{table.catalog} in neve.yaml, and that it is running.",
        ) from error
    except UNREADABLE as error:
        raise TableUnreadable(
            f"The metadata of table {table} cannot be read: {first_line(error)}",
            next_step="Check that the metadata file and the warehouse exist and are readable.",
        ) from error


def first_line(error: BaseException) -> str:
    """The error's own words, short enough for a sentence."""
    text = str(error).strip() or type(error).__name__
    line = text.splitlines()[0].strip()
    return line if len(line) <= 300 else line[:297] + "..."

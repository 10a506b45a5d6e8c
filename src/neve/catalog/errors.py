"""Errors of pyiceberg and of what stands below it, in Neve's own words."""

from __future__ import annotations

import re
import sqlite3
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import ValidationError
from pyiceberg import exceptions as iceberg

from neve.model.errors import CatalogError, ConfigError, NeveError, TableNotFound, TableUnreadable
from neve.model.table import TableRef

UNREACHABLE = (
    sqlite3.Error,
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
#: Clients that catalogs and storage are reached with, and what their errors descend from.
CLIENTS = (
    ("requests", "RequestException"),
    ("sqlalchemy.exc", "SQLAlchemyError"),
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("thrift.Thrift", "TException"),
    ("google.auth.exceptions", "GoogleAuthError"),
)
#: pyiceberg's errors have no common root.
ICEBERG_ERRORS = tuple(
    kind
    for kind in vars(iceberg).values()
    if isinstance(kind, type) and issubclass(kind, Exception)
)
#: How sentences of the client of HTTP begin.
PARTS_OF_CLIENT = re.compile(r"^(<[^>]*>|HTTPS?Connection(Pool)?\([^)]*\)): ")
#: How metadata files are called; an error that names one is about the table.
METADATA_SUFFIX = ".metadata.json"
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


def unreachable() -> tuple[type[BaseException], ...]:
    """Errors of a catalog that does not answer, of those clients that are in use.

    Importing a client only to name its error would cost more than a health check may take; an
    error of a client that was never imported cannot be raised.
    """
    used = (getattr(sys.modules.get(module), name, None) for module, name in CLIENTS)
    return UNREACHABLE + tuple(error for error in used if error is not None)


def failures() -> tuple[type[BaseException], ...]:
    """All that goes wrong between here, a catalog and its storage."""
    wrong = (OSError, ValueError, KeyError, TypeError, NotImplementedError, ImportError)
    return (*unreachable(), *ICEBERG_ERRORS, *wrong)


#: Arrow's clients of stores tell in words alone that they did not get through.
NO_WAY_THROUGH = (
    "NETWORK_CONNECTION",
    "curlCode",
    "UNAVAILABLE",
    "Could not connect",
    "Connection refused",
    "resolve host",
    "timed out",
)
#: And so they tell that their keys were not taken.
NO_ACCESS = (
    "ACCESS_DENIED",
    "INVALID_ACCESS_KEY_ID",
    "SIGNATURE_DOES_NOT_MATCH",
    "INVALID_CLIENT_TOKEN_ID",
    "MISSING_AUTHENTICATION_TOKEN",
    "REQUEST_EXPIRED",
    "PERMISSION_DENIED",
    "UNAUTHENTICATED",
)
#: What bytes that were made to do harm do to those who decode them.
DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    RecursionError,
    SystemError,
    struct.error,
    zlib.error,
)
DECODERS = (("cramjam", "DecompressionError"), ("zstandard", "ZstdError"))


def damage() -> tuple[type[BaseException], ...]:
    """All that goes wrong where files of a table are decoded by pyiceberg and Arrow."""
    used = (getattr(sys.modules.get(module), name, None) for module, name in DECODERS)
    return (*failures(), *DAMAGE, *(error for error in used if error is not None))


@contextmanager
def catalog_errors(catalog: str) -> Iterator[None]:
    """Errors of talking to a catalog."""
    try:
        yield
    except NeveError:
        raise
    except (iceberg.NotInstalledError, ImportError) as error:
        raise ConfigError(
            f"Catalog {catalog} needs a package that is not installed: {first_line(error)}",
            next_step="Install it beside Neve, or use another type of catalog.",
        ) from error
    except unreachable() as error:
        raise CatalogError(
            f"Catalog {catalog} cannot be reached: {first_line(error)}",
            next_step=f"Check catalogs.{catalog} in neve.yaml, and that the catalog is running.",
        ) from error
    except damage() as error:
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
            f"There is no table {table}.",
            next_step=f"List tables: neve tables '{table.catalog}.*'",
            name=str(table),
        ) from error
    except iceberg.ServerError as error:
        if METADATA_SUFFIX not in str(error):
            raise _no_answer(table, error) from error
        # The catalog answered: it is the table's metadata that it cannot read.
        raise _unreadable(table, error) from error
    except unreachable() as error:
        raise _no_answer(table, error) from error
    except damage() as error:
        if isinstance(error, OSError) and any(word in str(error) for word in NO_WAY_THROUGH):
            raise _no_storage(table, error) from error
        if isinstance(error, OSError) and any(word in str(error) for word in NO_ACCESS):
            raise _no_access(table, error) from error
        raise _unreadable(table, error) from error


def _no_storage(table: TableRef, error: OSError) -> CatalogError:
    """Nothing is wrong with the table: whoever asks again later may read it."""
    return CatalogError(
        f"The storage of table {table} cannot be reached: {first_line(error)}",
        next_step=f"Check that it is running, and how catalogs.{table.catalog} names it.",
    )


def _no_access(table: TableRef, error: OSError) -> CatalogError:
    """It says nothing about the table, and the way back of a damaged one would mislead."""
    return CatalogError(
        f"The storage of table {table} refuses access: {first_line(error)}",
        next_step=f"Check the keys and the endpoint of storage in catalogs.{table.catalog} in "
        "neve.yaml: neve doctor",
    )


def _no_answer(table: TableRef, error: BaseException) -> CatalogError:
    return CatalogError(
        f"Catalog {table.catalog} cannot be reached: {first_line(error)}",
        next_step=f"Check catalogs.{table.catalog} in neve.yaml, and that it is running.",
    )


def _unreadable(table: TableRef, error: BaseException) -> TableUnreadable:
    return TableUnreadable(
        f"The metadata of table {table} cannot be read: {first_line(error)}",
        next_step=f"See what is wrong and the way back: neve doctor {table.typed}",
    )


def first_line(error: BaseException) -> str:
    """The error's own words, short enough for a sentence."""
    text = _unwrapped(error).strip() or type(error).__name__
    line = text.splitlines()[0].strip()
    return line if len(line) <= 300 else line[:297] + "..."


def _unwrapped(error: BaseException) -> str:
    """What the client of HTTP says at the core, and of which server: it tells of its own parts."""
    inner = error.args[0] if error.args else None
    pool, reason = getattr(inner, "pool", None), getattr(inner, "reason", None)
    if pool is None or reason is None:
        return str(error)
    return f"{pool.host}:{pool.port}: {PARTS_OF_CLIENT.sub('', str(reason))}"

"""Catalogs by name, opened when first needed."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from typing import Protocol

from pyiceberg.catalog import Catalog, CatalogType, infer_catalog_type, load_catalog
from pyiceberg.table import Table
from pyiceberg.typedef import RecursiveDict
from pyiceberg.utils.config import Config, merge_config
from strictyaml import YAMLError  # type: ignore[import-untyped]

from neve.catalog.ask import ask_each
from neve.catalog.careful_tables import ignoring_tables, refuse_lost_head
from neve.catalog.embedded import (
    EmbeddedCatalog,
    is_embedded,
    with_escaped_path,
    with_plain_path,
)
from neve.catalog.entries import Entries, read_entries
from neve.catalog.errors import catalog_errors, first_line, table_errors
from neve.catalog.recent import RecentTables
from neve.model.errors import ConfigError, InputError, NeveError
from neve.model.found import GLOB_CHARACTERS, Found
from neve.model.table import TableRef, parse_table_ref
from neve.planning import nessie
from neve.policy.values import suggest

#: For connecting, and for each answer.
REST_TIMEOUT_SECONDS = (10.0, 120.0)
#: How files are reached, and who asks a REST server: the entries are the same for all of it.
#: Anything else may lead elsewhere: a region, a profile, a project, a header.
NOT_IDENTITY = ("s3.", "gcs.", "adls.", "hdfs.", "py-io-impl", "io-impl", "token", "credential")
#: For opening a catalog, whatever its client does, and for listing all that is in it.
OPENING_SECONDS = 60.0
LISTING_SECONDS = 900.0
SNAPSHOT_LOADING_MODE = "snapshot-loading-mode"


class ReadableCatalog(Protocol):
    """What is asked of a catalog here; pyiceberg's catalogs answer it."""

    def list_namespaces(self, namespace: tuple[str, ...] = ...) -> Sequence[tuple[str, ...]]: ...

    def list_tables(self, namespace: tuple[str, ...]) -> Sequence[tuple[str, ...]]: ...

    def load_table(self, identifier: tuple[str, ...]) -> Table: ...


class Catalogs:
    """The configured catalogs, with those of ~/.pyiceberg.yaml behind them."""

    def __init__(
        self,
        configured: Mapping[str, Mapping[str, str]],
        default: str | None = None,
        *,
        required: bool = True,
    ) -> None:
        """Without `required`, that there is no catalog is an error for whoever asks for one."""
        self._properties = {name: dict(properties) for name, properties in configured.items()}
        for name, properties in _fallback_catalogs().items():
            self._properties.setdefault(name, properties)
        if required:
            self._require_one()
        self._default = default or next(iter(self._properties), "")
        if self._default and self._default not in self._properties:
            raise ConfigError(f"default_catalog names {self._default!r}, which is not configured.")
        self._open: dict[str, ReadableCatalog] = {}
        self._writable: dict[str, Catalog] = {}
        self._entries: dict[str, Entries] = {}
        self.recent = RecentTables()
        # One for each: a catalog that hangs must not keep the others closed.
        self._opening = {name: threading.RLock() for name in self._properties}

    @property
    def names(self) -> list[str]:
        return list(self._properties)

    @property
    def default(self) -> str:
        return self._default

    def _require_one(self) -> None:
        if not self._properties:
            raise ConfigError(
                "No catalog is configured.",
                next_step="Add one under catalogs: in neve.yaml (neve init writes a first file), "
                "or to ~/.pyiceberg.yaml.",
            )

    def properties(self, name: str) -> dict[str, str]:
        """The catalog's properties as pyiceberg takes them."""
        return dict(self._properties[name])

    def parse(self, text: str) -> TableRef:
        """A table by the name that a user wrote."""
        self._require_one()
        return parse_table_ref(text, default_catalog=self._default, catalogs=self._properties)

    def catalog(self, name: str) -> ReadableCatalog:
        """The opened catalog, for reading."""
        with self._lock(name):
            if name not in self._open:
                properties = pyiceberg_properties(self._properties[name], name)
                with catalog_errors(name):
                    self._open[name] = (
                        EmbeddedCatalog(name, properties)
                        if is_embedded(properties)
                        else self.writable(name)
                    )
            return self._open[name]

    def writable(self, name: str) -> Catalog:
        """The catalog as pyiceberg opens it, for commits: the embedded one above only reads."""
        with self._lock(name):
            if name not in self._writable:
                opened = ask_each([name], self._load_catalog, OPENING_SECONDS)[name]
                if isinstance(opened, NeveError):
                    raise opened
                self._writable[name] = _with_all_snapshots(_impatient(opened))
            return self._writable[name]

    def open_ahead(self) -> None:
        """Open embedded catalogs for commits, meanwhile: what that imports takes over a second."""
        threading.Thread(target=self._open_embedded, name="neve-catalogs", daemon=True).start()

    def _open_embedded(self) -> None:
        for name, properties in self._properties.items():
            if is_embedded(pyiceberg_properties(properties)):
                # Whoever commits is told.
                with suppress(NeveError):
                    self.writable(name)

    def _load_catalog(self, name: str) -> Catalog:
        with catalog_errors(name):
            properties = pyiceberg_properties(self._properties[name], name)
            return open_catalog(name, with_escaped_path(properties))

    def _lock(self, name: str) -> threading.RLock:
        if name not in self._opening:
            # Trino has catalogs of its own, whose files cannot be looked at from here.
            raise InputError(
                f"There is no catalog named {name!r}.",
                next_step="Add it under catalogs: in neve.yaml.",
            )
        return self._opening[name]

    def load(self, table: TableRef) -> Table:
        """The table as it is now."""
        with table_errors(table):
            loaded = self.catalog(table.catalog).load_table((*table.namespace, table.name))
            refuse_lost_head(table, loaded)
        self.recent.add(table, loaded)
        return loaded

    def load_with(self, table: TableRef, snapshot_id: int | None) -> Table:
        """The table with this snapshot: as it was loaded a moment ago, where that lists it.

        Only for what the snapshot itself says; where the table stands now, `load` tells.
        """
        if snapshot_id is not None:
            known = self.recent.with_snapshot(table, snapshot_id)
            if known is not None:
                return known
        return self.load(table)

    def tables(self, pattern: str = "*") -> list[TableRef]:
        """Tables whose full name, or name in the default catalog, matches the glob.

        A catalog that does not answer is an error: whoever deletes must know of every table.
        """
        found = self.find(pattern)
        for problem in found.problems.values():
            raise problem
        return found.tables

    def find(self, pattern: str = "*") -> Found:
        """The same, where every catalog speaks for itself."""
        self._require_one()
        if not any(character in pattern for character in GLOB_CHARACTERS):
            return Found([self.parse(pattern)], is_named=True)
        names, meant = self._matching_catalogs(pattern), self._meant(pattern)
        tables: dict[str, list[TableRef]] = {}
        problems: dict[str, NeveError] = {}
        for name, answer in self._lists(names).items():
            if isinstance(answer, NeveError):
                problems[name] = answer
            else:
                tables[name] = [
                    t for t in answer if pattern == "*" or t == meant or self.matches(t, pattern)
                ]
        ordered = [table for name in sorted(tables) for table in tables[name]]
        # A name may hold what a pattern holds, and means itself.
        if meant and meant in tables.get(meant.catalog, ()):
            return Found([meant], problems, len(names), is_named=True)
        return Found(ordered, problems, len(names))

    def _meant(self, pattern: str) -> TableRef | None:
        """The table that the pattern would name, were it a name."""
        try:
            return self.parse(pattern)
        except InputError:
            return None

    def _lists(self, names: Sequence[str]) -> dict[str, Sequence[TableRef] | NeveError]:
        """A file of this machine is read here: a thread for it costs more than reading it."""
        far = [name for name in names if not is_embedded(self._properties[name])]
        answers: dict[str, Sequence[TableRef] | NeveError] = {}
        for name in set(names).difference(far):
            try:
                answers[name] = self._list(name)
            except NeveError as error:
                answers[name] = error
        return answers | (ask_each(far, self._list, LISTING_SECONDS) if far else {})

    def namespaces(self, name: str) -> list[tuple[str, ...]]:
        """The top-level namespaces of a catalog."""
        catalog = self.catalog(name)
        with catalog_errors(name):
            return [tuple(namespace) for namespace in catalog.list_namespaces()]

    def with_locations(self) -> tuple[list[TableRef], Mapping[TableRef, str]]:
        """All tables, and where the metadata is now of those whose catalog tells it for all.

        A file of this machine tells both by one reading.
        """
        near = [name for name in self.names if is_embedded(self._properties[name])]
        for name in near:
            self._require_list(name)
        told = {name: self._read_entries(name, self.catalog(name)) for name in near}
        listed = {name: entries.tables if entries else [] for name, entries in told.items()}
        far = [name for name in self.names if name not in told]
        for name, answer in (ask_each(far, self._list, LISTING_SECONDS) if far else {}).items():
            if isinstance(answer, NeveError):
                raise answer
            listed[name] = answer
            # Read after the list, so that none of its tables is older here.
            told[name] = self._read_entries(name, self.catalog(name))
        tables = [table for name in sorted(listed) for table in listed[name]]
        locations = (entries.locations for entries in told.values() if entries)
        return tables, {table: at for some in locations for table, at in some.items()}

    def _require_list(self, name: str) -> None:
        """A file that is no catalog, or has lost its tables, must not count as one without any."""
        catalog = self.catalog(name)
        if isinstance(catalog, EmbeddedCatalog):
            with catalog_errors(name):
                catalog.require_list()

    def _read_entries(self, name: str, catalog: ReadableCatalog) -> Entries | None:
        with catalog_errors(name):
            entries = read_entries(name, catalog, self._entries.get(name))
        if entries is not None:
            self._entries[name] = entries
        return entries

    def are_same(self, one: str, other: str) -> bool:
        """Whether two names are configured for one catalog, so that both show the same entries."""
        first, second = (pyiceberg_properties(self._properties[name]) for name in (one, other))
        # A SQL catalog's name is part of its entries: under another name it has others.
        return first.get("type", "sql") != "sql" and _identity(first) == _identity(second)

    def _matching_catalogs(self, pattern: str) -> list[str]:
        """Do not ask catalogs that the pattern excludes: they may be down, and they take time."""
        first, dot, _ = pattern.partition(".")
        if dot and first in self._properties:
            return [first]
        return self.names

    def matches(self, table: TableRef, pattern: str) -> bool:
        """Whether the glob is for the table."""
        full = ".".join((table.catalog, *table.namespace, table.name))
        if fnmatchcase(full, pattern):
            return True
        return table.catalog == self._default and fnmatchcase(
            full.removeprefix(f"{table.catalog}."), pattern
        )

    def _list(self, name: str) -> Sequence[TableRef]:
        """All tables of the catalog, in their order."""
        catalog = self.catalog(name)
        if isinstance(catalog, EmbeddedCatalog):
            entries = self._read_entries(name, catalog)
            return entries.tables if entries is not None else []
        with catalog_errors(name):
            found: list[TableRef] = []
            pending = list(catalog.list_namespaces())
            seen: set[tuple[str, ...]] = set()
            while pending:
                namespace = tuple(pending.pop())
                if namespace in seen:
                    continue
                seen.add(namespace)
                found += _tables_in(catalog, name, namespace)
                pending += catalog.list_namespaces(namespace)
            return sorted(found)


def open_catalog(name: str, properties: Mapping[str, str]) -> Catalog:
    """The catalog as pyiceberg opens it, where neither servers nor tables choose what runs."""
    configured = merge_config(Config().get_catalog_config(name) or {}, dict(properties))
    _check_type(name, str(configured.get("type", CatalogType.REST.value)))
    if "uri" in configured and _is_rest(name, configured):
        # Its client takes longer to import than an embedded catalog takes to be read.
        from neve.catalog.careful_rest import CarefulRestCatalog

        return CarefulRestCatalog(name, **configured)  # type: ignore[arg-type]
    return ignoring_tables(load_catalog(name, **properties))


def _check_type(name: str, said: str) -> None:
    known = [kind.value for kind in CatalogType]
    if said.lower() not in known:
        raise ConfigError(
            f"Catalog {name} is said to be of type {said!r}, which there is not.",
            next_step=f"{suggest(said, known)} Change catalogs.{name}.type in neve.yaml.",
        )


def _is_rest(name: str, configured: RecursiveDict) -> bool:
    said = configured.get("type")
    if said is not None or "py-catalog-impl" in configured:
        return str(said).lower() == CatalogType.REST.value
    return infer_catalog_type(name, configured) is CatalogType.REST


def _identity(properties: Mapping[str, str]) -> dict[str, str]:
    return {k: v for k, v in properties.items() if not k.startswith(NOT_IDENTITY)}


def _tables_in(catalog: ReadableCatalog, name: str, namespace: tuple[str, ...]) -> list[TableRef]:
    return [
        TableRef(name, tuple(identifier[:-1]), identifier[-1])
        for identifier in catalog.list_tables(namespace)
    ]


def _impatient(catalog: Catalog) -> Catalog:
    """Give up on a REST catalog that does not answer; pyiceberg would wait for ever."""
    session = getattr(catalog, "_session", None)
    if session is not None:
        session.request = partial(session.request, timeout=REST_TIMEOUT_SECONDS)
    return catalog


def _with_all_snapshots(catalog: Catalog) -> Catalog:
    """A file that no snapshot reaches may be deleted, so no setting may hide a snapshot."""
    properties = getattr(catalog, "properties", None)
    if properties is not None:
        # Set here, because a REST server's own configuration may say otherwise.
        properties[SNAPSHOT_LOADING_MODE] = "all"
    return catalog


def pyiceberg_properties(properties: Mapping[str, str], name: str = "") -> dict[str, str]:
    """`nessie` is a REST catalog for pyiceberg; everything else is pyiceberg's own."""
    nessie.refuse_ref(name, properties)
    if properties.get("type") == "nessie":
        return nessie.rest_properties(name, properties)
    return dict(properties)


def _fallback_catalogs() -> dict[str, dict[str, str]]:
    try:
        found = Config().config.get("catalog") or {}
    except (YAMLError, OSError, ValueError) as error:
        raise ConfigError(
            f"pyiceberg's file .pyiceberg.yaml cannot be read: {first_line(error)}",
            next_step="Correct it, or move it away: PYICEBERG_HOME names its folder.",
        ) from error
    if not isinstance(found, dict):
        raise ConfigError("In pyiceberg's file .pyiceberg.yaml, catalog: must hold a mapping.")
    return {
        str(name): with_plain_path({str(key): str(value) for key, value in properties.items()})
        for name, properties in found.items()
        if isinstance(properties, dict)
    }

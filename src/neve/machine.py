"""What this machine has, what it lacks, and the exact fix."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from neve.catalog.connect import Catalogs
from neve.catalog.embedded import database_of, is_embedded
from neve.catalog.storage_check import check_storage
from neve.model.counts import many
from neve.model.errors import EnvironmentProblem, InputError, NeveError
from neve.settings import EMBEDDED_CATALOG, Settings, load_settings
from neve.store.address import is_redis
from neve.store.opening import open_redis, sqlite_path

#: Of the embedded lakehouse before its first table.
NO_TABLE_YET = "empty; its first table makes it (neve demo, or your own)"


@dataclass(frozen=True, slots=True)
class Check:
    """One check and, where it failed, what to do."""

    name: str
    passed: bool
    detail: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class SparkPackage:
    """An archive that executors of a Spark cluster run Neve's tasks from."""

    path: str
    size_bytes: int
    #: What executors must have: the minor version of Python, the system and its processor.
    python: str
    platform: str


def write_spark_package(path: Path) -> SparkPackage:
    """Write what executors need of this environment."""
    if path.suffix != ".zip":
        raise InputError(
            f"{path} does not end with .zip: Spark knows archives by their endings.",
            next_step=f"neve spark-package --out {path.with_suffix('.zip')}",
        )
    # Whoever only looks at tables need not import it.
    from neve.spark.package import write_package

    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        write_package(path)
        size_bytes = path.stat().st_size
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}.") from error
    python = ".".join(str(part) for part in sys.version_info[:2])
    return SparkPackage(str(path), size_bytes, python, sysconfig.get_platform())


def check_machine(config: str | None = None) -> list[Check]:
    """Check Python, Java, jars, configuration, catalogs and state."""
    return list(_checks(config))


def _checks(config: str | None) -> Iterator[Check]:
    yield Check("Python", True, ".".join(str(part) for part in sys.version_info[:3]))
    yield _try("PySpark", _pyspark)
    yield _try("Java", _java)
    yield _try("cache folder", _cache)
    loaded: list[Settings] = []

    def configuration() -> str:
        loaded.append(load_settings(config))
        return f"catalogs: {', '.join(loaded[0].catalogs) or 'none'}"

    yield _try("configuration", configuration)
    if not loaded:
        return
    settings = loaded[0]
    yield _try("jars", lambda: _jars(settings))
    yield _try("state", lambda: _state(settings))
    try:
        catalogs = Catalogs(settings.catalogs, settings.default_catalog)
    except NeveError as error:
        yield Check("catalogs", False, error.message, error.next_step)
        return
    for name in catalogs.names:
        check = _try(f"catalog {name}", lambda name=name: _catalog(catalogs, name, settings))  # type: ignore[misc]
        yield check
        if check.passed:
            yield from _storage(catalogs, name)


def _storage(catalogs: Catalogs, name: str) -> Iterator[Check]:
    """Whether files behind a catalog can be read; nothing is said of files on this machine."""
    title = f"storage of {name}"
    try:
        found = check_storage(catalogs, name)
    except NeveError as error:
        yield Check(title, False, error.message, error.next_step)
        return
    if found is not None:
        yield Check(title, True, found)


def _try(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except NeveError as error:
        return Check(name, False, error.message, error.next_step)


def _pyspark() -> str:
    fix = f"{sys.executable} -m pip install 'pyspark>=4.1,<4.2'"
    try:
        found = version("pyspark")
    except PackageNotFoundError:
        raise EnvironmentProblem("pyspark is not installed.", next_step=fix) from None
    if not found.startswith("4.1."):
        raise EnvironmentProblem(
            f"pyspark {found} is installed, and Iceberg has a runtime for 4.1 only.", next_step=fix
        )
    return found


def _java() -> str:
    from neve.spark.java import find_java

    java = find_java(os.environ)
    return f"{java.version} in {java.home} (from {java.source})"


def _cache() -> str:
    from neve.spark.java import cache_folder

    folder = cache_folder(os.environ)
    _require_writable(folder, "Set NEVE_CACHE to a folder that can be written.")
    return str(folder)


def _jars(settings: Settings) -> str:
    from neve.spark.conf import packages
    from neve.spark.jars import cached_jars

    wanted = packages(settings.catalogs)
    found = cached_jars(wanted, os.environ)
    if found is None:
        # Not a failure: the first run fetches them.
        return f"not fetched yet: {', '.join(wanted)}"
    return f"{len(found)} in place"


def _state(settings: Settings) -> str:
    url = settings.state.url
    if is_redis(url):
        store = open_redis(url, settings.state.prefix)
        store.check()
        return store.address
    path = sqlite_path(url)
    _require_writable(path.parent, "Set state.url to a file in a folder that can be written.")
    return str(path)


def _require_writable(folder: Path, fix: str) -> None:
    """Writable, or makeable: a missing folder is made by whoever first needs it."""
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise EnvironmentProblem(f"{folder} cannot be written.", next_step=fix)


def _catalog(catalogs: Catalogs, name: str, settings: Settings) -> str:
    from neve.spark.conf import catalog_type
    from neve.spark.gate.conf import why_not_gated

    properties = catalogs.properties(name)
    if _is_not_made_yet(properties):
        _require_writable(database_of(properties).parent, "Run Neve in a folder of your own.")
        return NO_TABLE_YET
    namespaces = catalogs.namespaces(name)
    told = many(len(namespaces), "namespace")
    if catalog_type(name, properties) not in ("rest", "nessie"):
        return told
    why = why_not_gated(properties) if settings.spark.commit_gate else "spark.commit_gate is off"
    return f"{told}; commits without a clear answer are not settled, since {why}" if why else told


def _is_not_made_yet(properties: Mapping[str, str]) -> bool:
    """Whether this is the place of the default; elsewhere a missing file may be a typing error."""
    if not is_embedded(properties):
        return False
    path, default = database_of(properties), database_of(EMBEDDED_CATALOG)
    return path.parts[-2:] == default.parts[-2:] and not path.exists()

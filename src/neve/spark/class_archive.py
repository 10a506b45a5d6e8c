"""Class-data sharing: the classes that Spark loads at every start, parsed and verified once.

The first JVM of its kind writes them to the cache as it ends, when nobody waits for it any more,
and every later one maps the file. Where anything does not fit, Spark starts as it always did.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pyspark

from neve.spark.java import Java, cache_folder

#: An archive takes 140 to 200 MB.
KEPT_ARCHIVES = 3
#: A JVM that is always killed before it can write must not be asked for ever.
MAX_ATTEMPTS = 3
#: The archives of the JDK itself, which ours builds upon.
BASE_ARCHIVE = Path("lib/server/classes.jsa")
#: Options of the user's that mean another archive, or that archives do not go with.
OTHER_WAYS = ("SharedArchive", "ArchiveClasses", "-Xshare", "-javaagent", "-agent", "patch-module")
#: Where folders come onto the class path; the JVM archives classes of jars alone.
FOLDERS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH")
#: Nothing is said of an archive that does not fit. Checksums are looked at: a damaged file that is
#: mapped would end the JVM.
USE = ("-Xshare:auto", "-XX:+VerifySharedSpaces", "-Xlog:cds*=off")
MAKE = ("-Xlog:cds*=off",)


@dataclass(frozen=True, slots=True)
class ClassArchive:
    """What a JVM is told about the archive."""

    options: tuple[str, ...] = ()
    #: The lock of whoever makes the archive; the JVM is to hold it until it has ended.
    lock: IO[bytes] | None = None


NONE = ClassArchive()


def class_archive(
    java: Java,
    home: Path,
    jars: Sequence[str],
    options: Iterable[str],
    environ: Mapping[str, str],
) -> ClassArchive:
    """The archive for a JVM with these jars before Spark's own and these options of the user's."""
    chosen = list(options)
    folder = cache_folder(environ) / "classes"
    if not _can_have_one(java, home, chosen, environ) or os.pathsep in str(folder):
        return NONE
    try:
        archive = folder / f"{_key(java, home, jars, chosen)}.jsa"
        return _use(archive) if archive.is_file() else _make(archive)
    except OSError:
        # A cache that cannot be read or written costs a few seconds, and nothing else.
        return NONE


def _can_have_one(
    java: Java, home: Path, options: Sequence[str], environ: Mapping[str, str]
) -> bool:
    conf = Path(environ.get("SPARK_CONF_DIR") or home / "conf")
    return (
        (java.home / BASE_ARCHIVE).is_file()
        and not any(word in option for option in options for word in OTHER_WAYS)
        and not any(environ.get(name) for name in FOLDERS)
        and not (conf.is_dir() and any(conf.iterdir()))
    )


def _key(java: Java, home: Path, jars: Sequence[str], options: Sequence[str]) -> str:
    """Changes with everything that the JVM compares when it opens an archive."""
    told = [java.build, str(java.home), pyspark.__version__, *options]
    for jar in (*map(Path, jars), *sorted((home / "jars").iterdir())):
        found = jar.stat()
        told.append(f"{jar} {found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _use(archive: Path) -> ClassArchive:
    with suppress(OSError):
        # The oldest ones go when there are too many.
        os.utime(archive)
    return ClassArchive((f"-XX:SharedArchiveFile={archive}", *USE))


def _make(archive: Path) -> ClassArchive:
    """Have the JVM write one, unless another JVM is at it."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    lock = archive.with_suffix(".lock").open("a+b")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fresh = archive.with_suffix(".new")
        if _is_whole(fresh):
            fresh.replace(archive)
            _drop_oldest(archive.parent)
        if archive.is_file():
            lock.close()
            return _use(archive)
        attempts = os.fstat(lock.fileno()).st_size
        if attempts < MAX_ATTEMPTS:
            lock.write(b".")
            lock.flush()
            fresh.unlink(missing_ok=True)
            _drop_oldest(archive.parent)
            return ClassArchive((f"-XX:ArchiveClassesAtExit={fresh}", *MAKE), lock)
    except BlockingIOError:
        pass
    except OSError:
        lock.close()
        raise
    lock.close()
    return NONE


def _is_whole(archive: Path) -> bool:
    """The JVM writes the header last, so that a file without one was cut off."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except FileNotFoundError:
        return False


def _drop_oldest(folder: Path) -> None:
    """The newest stay, of archives and of what waits to become one at the next start."""
    archives = [*folder.glob("*.jsa"), *folder.glob("*.new")]
    archives.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for archive in archives[KEPT_ARCHIVES:]:
        # Not one that a JVM writes, which holds the lock.
        with suppress(BlockingIOError), archive.with_suffix(".lock").open("a+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            archive.unlink(missing_ok=True)
            lock.truncate(0)

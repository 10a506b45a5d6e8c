"""The files of a task as files of this machine, wherever they lie, and the way back.

Rows are rewritten by Arrow and by the kernel, which both want files. So objects of a store are
brought to the executor's own disk first, several at once, and a new file becomes an object when it
is whole and proven.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from neve.model.errors import ParquetCorrupt, ParquetError, ParquetUnsupported
from neve.model.sizes import format_size
from neve.planning.refusals import ARROW_SCHEMES, STORE_SCHEME
from neve.storage.access import Storage, local_path
from neve.storage.readers import PIECE_BYTES, Closing, LocalReader, pieces_of, whole

if TYPE_CHECKING:
    from neve.storage.arrow import ArrowStore
    from neve.storage.s3 import S3Store

#: So many pieces of objects are in memory while they are on their way.
FETCHED_AT_ONCE: Final = 8
#: Sources, new files, and some more for what encodes worse than before.
ROOM_FOR_EACH_BYTE: Final = 2.5


class TaskFiles(Closing):
    """Sources by their locations, and new files by their names."""

    def __init__(self, storage: Storage, store: Callable[[], S3Store]) -> None:
        """`store` is asked for only where files lie in S3."""
        self._storage, self._store = storage, store
        self._fetched: dict[str, str] = {}
        self._sent = 0

    def fetch(self, locations: Sequence[str], size_bytes: int) -> None:
        """Bring those that are objects here; about so many bytes will be."""
        objects = [each for each in dict.fromkeys(locations) if is_object(each)]
        if not objects:
            return
        if any(each.startswith(STORE_SCHEME) for each in objects):
            # Threads would each make one, and requests are counted in one.
            self._store()
        with _bad_disk_refuses():
            free = shutil.disk_usage(self._folder).free
            if free < (needed := int(ROOM_FOR_EACH_BYTE * size_bytes)):
                raise ParquetUnsupported(
                    f"A task needs {format_size(needed)} of its executor's disk for objects, of "
                    f"which {format_size(free)} are free."
                )
            with ThreadPoolExecutor(FETCHED_AT_ONCE, "task-fetch") as pool:
                list(pool.map(self.local, objects))

    def local(self, location: str) -> str:
        """Where the file is on this machine; an object is brought here the first time."""
        if not is_object(location):
            return local_path(location)
        if location not in self._fetched:
            # Several threads may ask, each for another one.
            path = os.path.join(self._folder, f"source-{len(self._fetched)}-{os.urandom(8).hex()}")
            self._download(location, path)
            self._fetched[location] = path
        return self._fetched[location]

    def open(self, location: str) -> LocalReader:
        """A reader that is called by its location where that is not a path."""
        reader = LocalReader(self.local(location))
        if is_object(location):
            reader.path = location
        return reader

    def read_range(self, location: str, offset: int, length: int) -> bytes:
        """Some bytes of a file, of which the rest is not needed."""
        if not is_object(location) or location in self._fetched:
            with self.open(location) as reader:
                return reader.read_at(offset, length)
        if location.startswith(STORE_SCHEME):
            span = f"bytes={offset}-{offset + length - 1}"
            with _through_client():
                return whole(self._store().fetch(location, span).data, location, offset, length)
        with _through_arrow(), self._arrow.open(location) as stored:
            return stored.read_at(offset, length)

    def target(self, name: str) -> Path:
        """Where a new file is written before it is called so, or right away where it stays."""
        if is_object(name):
            return Path(self._folder, f"new-{self._sent}")
        path = Path(local_path(name))
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    @contextmanager
    def writing(self, name: str) -> Iterator[None]:
        """While a new file is made: what fails is told by its name, and a bad disk refuses."""
        try:
            yield
        except ParquetError as error:
            if not is_object(name):
                raise
            is_refusal = isinstance(error, (ParquetCorrupt, ParquetUnsupported))
            if not is_refusal and isinstance(error.__cause__, OSError):
                raise _bad_disk(error.__cause__) from error
            error.message = error.message.replace(str(self.target(name)), name)
            error.args = (error.message,)
            raise

    def hand_over(self, name: str) -> tuple[str, ...]:
        """Make what was written under `target` the file of that name; answers notes.

        Whatever fails, no file of that name is left that nobody else has written; but where the
        completion's answer is lost and ETags are no digests, nobody can tell whose it is.
        """
        if not is_object(name):
            return ()
        path = self.target(name)
        with LocalReader(path) as reader:
            if name.startswith(STORE_SCHEME):
                from neve.storage.s3_upload import send_file

                notes = send_file(self._store(), reader, name, self._storage.upload_options)
            else:
                self._arrow.send(reader, name)
                notes = ()
        path.unlink()
        self._sent += 1
        return notes

    def close(self) -> None:
        """Remove what was brought here."""
        if "_folder" in self.__dict__:
            shutil.rmtree(self._folder, ignore_errors=True)

    @cached_property
    def _folder(self) -> str:
        # Spark removes its folders with the application, also where this process is killed.
        spark_folder = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
        within = spark_folder if os.path.isdir(spark_folder) else None
        return tempfile.mkdtemp(prefix="neve-task-", dir=within)

    @cached_property
    def _arrow(self) -> ArrowStore:
        # Its clients are loaded only where tables lie in such a store.
        from neve.storage.arrow import ArrowStore

        return ArrowStore(self._storage.arrow_settings)

    def _download(self, location: str, path: str) -> None:
        with open(path, "xb") as target:
            if location.startswith(STORE_SCHEME):
                with _through_client():
                    for piece in self._store().pieces(location, PIECE_BYTES):
                        target.write(piece)
                return
            with _through_arrow(), self._arrow.open(location) as reader:
                for piece in pieces_of(reader):
                    target.write(piece)


def is_object(location: str) -> bool:
    """Whether a file has to be brought here; what only Iceberg reaches is refused.

    Any other scheme would be taken for a folder of this machine.
    """
    if location.startswith((STORE_SCHEME, *ARROW_SCHEMES)):
        return True
    if location.startswith(("file:", "/")):
        return False
    raise ParquetUnsupported(f"{location} lies where only Iceberg reaches it.")


@contextmanager
def _through_arrow() -> Iterator[None]:
    """Iceberg's own client may have credentials that Arrow's does not know."""
    try:
        yield
    except ParquetError as error:
        if isinstance(error.__cause__, OSError):
            what = f"Arrow's client does not get through: {error.message}"
            raise ParquetUnsupported(what) from error
        raise


@contextmanager
def _through_client() -> Iterator[None]:
    """The same for S3: a table may be read with what only its own FileIO has."""
    from neve.storage.s3 import S3Refused

    try:
        yield
    except S3Refused as error:
        raise ParquetUnsupported(f"A task does not get through: {error.message}") from error


@contextmanager
def _bad_disk_refuses() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _bad_disk(error) from error


def _bad_disk(error: OSError) -> ParquetUnsupported:
    """Iceberg needs no room on disk for what it rewrites."""
    return ParquetUnsupported(
        f"The executor's disk does not take objects: {error.strerror or error}."
    )

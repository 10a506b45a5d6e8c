"""What a location resolves to: the one answer to whether two names mean one file.

A location has keys: its text in one spelling and, for a local file, the real path behind links of
folders and of the file itself, and the number under which the file system keeps it. Two locations
that share a key may be one file, and neither is deleted for the other's sake. A client may read
percent signs and `..` in more than one way, and begin a relative path or one without a scheme
somewhere else, so every reading counts. A name at which this process may not look could be a link
to any file: that is an error, never a name that leads nowhere.
"""

from __future__ import annotations

import errno
import os
import posixpath
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from neve.model.errors import TableUnreadable
from neve.planning.locations import (
    bare_path,
    comparable_path,
    scheme_of,
    text_key,
    unescaped,
)

FILE = "file:"
#: Names that mean what they say: nothing in them is escaped, composed or a step elsewhere.
PLAIN_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._=+@,~ -]+", re.ASCII)
#: Of folders; deeper ones are resolved by the system alone.
MAX_DEPTH = 100
#: A path that begins in whatever folder its writer worked in.
RELATIVE = re.compile(r"(?:file:(?!/))?(?![/]|[a-z][a-z0-9+.\-]*:)(.+)", re.I | re.S)
#: Where some clients take a name to end.
CUT_OFF = re.compile(r"[?#]")
#: By these the system says that a name leads nowhere, for whoever asks; all else leaves it open.
NOWHERE = frozenset(
    (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL, errno.EILSEQ)
)


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder of this machine: its real path and its key, each to put a file's name behind."""

    path: str
    text: str
    is_there: bool


@dataclass(frozen=True, slots=True)
class _Folder:
    """What a folder's name may mean: beginnings of keys, and folders of this machine."""

    texts: tuple[str, ...]
    places: tuple[_Place, ...]


class Resolver:
    """Resolves many locations; folders are looked at once, so keep one only for one reading."""

    def __init__(self) -> None:
        self._folders: dict[str, _Folder] = {}
        self._local: dict[str, tuple[str, ...] | None] = {}
        self._real: dict[str, str] = {}

    def keys(self, location: str) -> set[int]:
        """Numbers of 64 bits. Where two locations share one, they may be one file."""
        if "?" in location or "#" in location:
            return self._keys(location) | self._keys(CUT_OFF.split(location, maxsplit=1)[0])
        return self._keys(location)

    def _keys(self, location: str) -> set[int]:
        folder, _, name = location.rpartition("/")
        if folder and PLAIN_NAME.fullmatch(name):
            return self._plain_keys(folder, name)
        keys = {hash(text) for text in _text_keys(location)}
        for path in self._local_paths(location):
            keys.add(hash(text_key(f"file:{path}")))
            keys.update(_file_keys(path))
        return keys

    def _plain_keys(self, folder: str, name: str) -> set[int]:
        """The same for a name of which only the folder needs to be looked at."""
        if folder not in self._folders:
            self._folders[folder] = self._look_at(folder)
        found = self._folders[folder]
        folded = name.casefold()
        keys = {hash(text + folded) for text in found.texts}
        for place in found.places:
            if place.text not in found.texts:
                keys.add(hash(place.text + folded))
            if place.is_there:
                keys.update(_file_keys(place.path + name))
        return keys

    def _look_at(self, folder: str) -> _Folder:
        """The folder in one spelling, and the real folders that it may mean."""
        paths = [posixpath.join(real, "") for real in self._real_folders(folder) or ()]
        places = (
            _Place(path, text_key(f"file:{path}x").removesuffix("x"), _is_folder(path))
            for path in paths
        )
        texts = (text.removesuffix("x") for text in _text_keys(f"{folder}/x"))
        return _Folder(tuple(texts), tuple(places))

    def real_names(self, location: str) -> set[str]:
        """Other names of a local file, by the real folders behind its own; none for most."""
        paths = self._local_paths(location)
        return {f"file:{path}" for path in paths if path != bare_path(location)}

    def _local_paths(self, location: str) -> list[str]:
        """Real paths that the location may mean on this machine, its last part not followed."""
        if "/" not in location and (found := RELATIVE.fullmatch(location)):
            location = f"./{found[1]}"
        folder, _, name = location.rpartition("/")
        if folder not in self._local:
            self._local[folder] = self._real_folders(folder)
        folders = self._local[folder]
        if folders is None:
            return []
        if PLAIN_NAME.fullmatch(name):
            return [posixpath.join(folder, name) for folder in folders]
        names = {name, unescaped(name)}
        joined = {posixpath.join(folder, name) for folder in folders for name in names}
        return sorted(joined | {_real(path) for path in _readings(location)})

    def _real_folders(self, folder: str) -> tuple[str, ...] | None:
        """The folders that a folder's name may mean; None where it is not of this machine."""
        paths = local_folders(folder)
        return tuple(sorted({self._real_folder(path) for path in paths})) if paths else None

    def _real_folder(self, path: str) -> str:
        """The real path; folders share those above them, which are looked at once."""
        path = path.rstrip("/")
        if path not in self._real:
            above, _, name = path.rpartition("/")
            if not above or path.count("/") > MAX_DEPTH or posixpath.normpath(path) != path:
                self._real[path] = _real(path or "/")
            else:
                here = posixpath.join(self._real_folder(above), name)
                self._real[path] = _real(here) if _is_link(_found(here)) else here
        return self._real[path]


def local_folders(folder: str) -> tuple[str, ...]:
    """The paths that a folder's name may mean on this machine; none where it is another's."""
    if scheme_of(f"{folder}/") != "file":
        return ()
    return tuple(_readings(f"{folder}/"))


def _text_keys(location: str) -> Iterator[str]:
    """One spelling for every store that the location may be of."""
    yield text_key(location)
    if location.startswith("/"):
        # Of whatever file system is the default one, which is this machine's or that of a cluster.
        yield text_key(f"hdfs:{location}")
    elif RELATIVE.fullmatch(location):
        yield _ending(location)


def _ending(location: str) -> str:
    """All that is sure of a relative path: how its file is called."""
    return f"relative|{comparable_path(location).rpartition('/')[2]}"


def _file_keys(path: str) -> Iterator[int]:
    """Keys of what is there by this name; the name itself counts all the same."""
    found = _found(path)
    if _is_link(found):
        yield hash(text_key(f"file:{_real(path)}"))
        found = _found(path, follow=True)
    if found is not None:
        yield hash((found.st_dev, found.st_ino))


def _real(path: str) -> str:
    try:
        return os.path.realpath(path, strict=True)
    except OSError as error:
        _refuse_doubt(path, error)
        # As far as it leads somewhere.
        return os.path.realpath(path)
    except ValueError:
        # A name that no file system takes.
        return posixpath.normpath(path)


def _found(path: str, *, follow: bool = False) -> os.stat_result | None:
    """What is there by this name; None where nothing is."""
    try:
        return os.stat(path, follow_symlinks=follow)
    except OSError as error:
        _refuse_doubt(path, error)
    except ValueError:
        pass
    return None


def _refuse_doubt(path: str, error: OSError) -> None:
    """Stop where nobody here can tell where the name leads."""
    if error.errno not in NOWHERE:
        raise TableUnreadable(
            f"Which file {path} is cannot be told here: {error.strerror}.",
            next_step="Let Neve's user search every folder on the way to it.",
        ) from error


def _is_link(found: os.stat_result | None) -> bool:
    return found is not None and stat.S_ISLNK(found.st_mode)


def _is_folder(path: str) -> bool:
    found = _found(path, follow=True)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _readings(location: str) -> Iterator[str]:
    """The local path as it is written and without escapes, each also with `..` taken as text."""
    written = [bare_path(location)]
    if found := RELATIVE.fullmatch(location):
        written.append(posixpath.join(os.getcwd(), found[1]))
    if location[: len(FILE)].lower() == FILE:
        # In `file://a/b`, some clients take the host for a folder.
        written.append("/" + location[len(FILE) :].lstrip("/"))
    decoded = ["/" + unescaped(path).lstrip("/") for path in written]
    for path in dict.fromkeys([*written, *decoded]):
        yield path
        if "/.." in path:
            yield posixpath.normpath(path)


class Sought:
    """Files that may be deleted, to be found again by whatever name others have for them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._resolver = Resolver()
        self._paths: dict[int, list[str]] = defaultdict(list)
        for path in paths:
            for key in {*self._resolver.keys(path), hash(_ending(path))}:
                self._paths[key].append(path)

    @property
    def keys(self) -> Iterable[int]:
        return self._paths.keys()

    def of_key(self, key: int) -> list[str]:
        return self._paths.get(key, [])

    def named_by(self, reached: Iterable[str]) -> set[str]:
        """Those that one of the reached paths means."""
        if not self._paths:
            return set()
        keys, paths = self._resolver.keys, self._paths
        return {
            path for name in reached for key in keys(name) if key in paths for path in paths[key]
        }

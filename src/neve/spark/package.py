"""What executors need of Neve, in one archive: its own package, and all that its tasks import.

Executors run tasks and nothing else, so that a few distributions of this environment are enough.
Spark unpacks the archive beside each executor, where Python finds it before what is installed.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from filelock import FileLock

from neve.model.errors import EnvironmentProblem
from neve.spark.java import cache_folder
from neve.spark.own_code import FOLDER, own_digest, own_files

#: What tasks import, with what these require in turn; boto3 only where it is installed.
NEEDED = ("pyarrow", "numpy")
OPTIONAL = ("boto3",)
#: Nothing of it is imported by a task: sources, headers, tests, descriptions of other services,
#: Arrow's network protocol, and its client for S3, in the place of which tasks have boto3.
LEFT_OUT = re.compile(
    r"(^|/)(__pycache__|tests|include)/|^pyarrow/src/|^\.\.|\.(pyx|pxd|pxi|pyi|h|a|lib)$"
    r"|^pyarrow/(lib)?(arrow)?_?(python_)?(flight|s3(fs)?)[./]"
    r"|^botocore/data/(?!(s3|sts|sso|sso-oidc)/|[^/]+$)"
)
#: Packages of other code than this one that are kept; each takes about 60 MB.
KEPT = 2


def package_name() -> str:
    """Tells this code in this environment, and the folder that executors unpack it to."""
    told = [own_digest(), sysconfig.get_platform(), sys.implementation.cache_tag or ""]
    told += [f"{each.name} {each.version}" for each in _distributions()]
    return f"neve-{hashlib.sha256('/'.join(told).encode()).hexdigest()[:16]}"


def cached_package(environ: Mapping[str, str]) -> Path:
    """The archive for this environment, written where no earlier session did."""
    folder = cache_folder(environ) / "executors"
    archive = folder / f"{package_name()}.zip"
    if archive.is_file():
        return archive
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock"):
            if not archive.is_file():
                write_package(archive)
                _drop_oldest(folder)
    except OSError as error:
        raise EnvironmentProblem(
            f"The package for executors cannot be written to {folder}: {error}.",
            next_step="Set NEVE_CACHE to a folder that can be written.",
        ) from error
    return archive


def write_package(target: Path) -> None:
    """Write the archive; it appears when it is complete."""
    fresh = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        # More than the least compression takes four times as long for a tenth of the size.
        with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for path, name in _contents():
                archive.write(path, name)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)


def _contents() -> Iterator[tuple[Path, str]]:
    for path in own_files():
        yield path, f"neve/{path.relative_to(FOLDER).as_posix()}"
    for each in _distributions():
        if each.files is None:
            raise EnvironmentProblem(
                f"It is not recorded which files {each.name} consists of.",
                next_step="Install Neve by pip or uv, or write the package where it was: "
                "neve spark-package.",
            )
        for file in each.files:
            if not LEFT_OUT.search(file.as_posix()):
                yield Path(str(each.locate_file(file))), file.as_posix()


@cache
def _distributions() -> tuple[Distribution, ...]:
    """All distributions that tasks need, each once."""
    found: dict[str, Distribution] = {}
    waiting = [(name, True) for name in NEEDED] + [(name, False) for name in OPTIONAL]
    while waiting:
        name, is_needed = waiting.pop()
        try:
            each = distribution(name)
        except PackageNotFoundError:
            if is_needed:
                raise
            continue
        if each.name not in found:
            found[each.name] = each
            waiting += [(required, False) for required in _required(each)]
    return tuple(found[name] for name in sorted(found))


def _required(each: Distribution) -> Iterator[str]:
    """Names that a distribution requires; those of other platforms are not installed here."""
    for line in each.requires or ():
        if "extra ==" not in line and (name := re.match(r"[A-Za-z0-9._-]+", line)):
            yield name[0]


def _drop_oldest(folder: Path) -> None:
    archives = sorted(folder.glob("neve-*.zip"), key=lambda path: path.stat().st_mtime)
    for archive in archives[: -1 - KEPT]:
        archive.unlink(missing_ok=True)

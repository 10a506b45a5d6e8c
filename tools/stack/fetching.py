"""Bring a part onto this machine once, with the tools' own configuration of where from."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from layout import StackError, locked

# The plugin's version is pinned so that two machines run the same goal.
MAVEN_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
DEBIAN = "them on a Debian or one of its kind"


def once(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Let `fill` make the folder's contents, unless an earlier call did.

    The folder appears by a rename when it is complete. Whoever comes second waits at the lock.
    """
    if folder.is_dir():
        return folder
    with locked(folder.with_name(folder.name + ".lock")):
        if folder.is_dir():
            return folder
        for leftover in folder.parent.glob(f".{folder.name}.*"):
            shutil.rmtree(leftover, ignore_errors=True)
        print(f"{folder.name}: downloading; the first time this can take minutes.", flush=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            fill(temporary)
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def go_install(package: str, into: Path) -> None:
    environment = os.environ | {"GOBIN": str(into), "CGO_ENABLED": "0"}
    _run("go", ["install", package], into, environment, install="Go 1.24 or newer")


@contextlib.contextmanager
def go_module(module: str, version: str) -> Iterator[Path]:
    """The files of a module, without those that it needs, for as long as they are read."""
    with tempfile.TemporaryDirectory() as scratch:
        environment = os.environ | {"GOMODCACHE": scratch, "GOFLAGS": "-modcacherw"}
        arguments = ["mod", "download", f"{module}@{version}"]
        _run("go", arguments, Path(scratch), environment, install="Go 1.24 or newer")
        yield Path(scratch, f"{module}@{version}")


def uv_program() -> str:
    """The uv beside this Python, or the one on the PATH."""
    beside = Path(sys.executable).with_name("uv")
    return str(beside) if beside.exists() else "uv"


def uv_environment(lock: Path, into: Path) -> None:
    """An environment of exactly the lock, that may be moved afterwards."""
    uv, install = uv_program(), "uv (pip install uv)"
    arguments = ["venv", "-q", "--relocatable", "--allow-existing", "--python", sys.executable, "."]
    _run(uv, arguments, into, dict(os.environ), install=install)
    arguments = ["pip", "install", "-q", "--require-hashes", "-r", str(lock)]
    arguments += ["--python", str(into / "bin" / "python")]
    _run(uv, arguments, into, dict(os.environ), install=install)


def maven_copy(coordinates: str, into: Path) -> Path:
    """Copy one artifact (group:name:version[:packaging[:classifier]]) and return its file."""
    before = set(into.iterdir())
    arguments = ["-B", "-q", MAVEN_COPY, f"-Dartifact={coordinates}", f"-DoutputDirectory={into}"]
    _run("mvn", arguments, into, dict(os.environ), install="Apache Maven 3.8 or newer")
    (copied,) = set(into.iterdir()) - before
    return copied


def debian_package(name: str, into: Path) -> None:
    """Unpack the files of a package, as this machine's sources have it; installs nothing."""
    try:
        _apt_get(into, "download", name)
    except StackError:
        # Images of machines come without lists of packages, or with old ones.
        lists = into / "lists"
        (lists / "partial").mkdir(parents=True)
        own = ("-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={lists}")
        _apt_get(into, *own, "update")
        _apt_get(into, *own, "download", name)
        shutil.rmtree(lists)
    (archive,) = into.glob(f"{name}_*.deb")
    _run("dpkg", ["-x", archive.name, "."], into, dict(os.environ), install=DEBIAN)
    archive.unlink()


def _apt_get(folder: Path, *arguments: str) -> None:
    _run("apt-get", list(arguments), folder, dict(os.environ), install=DEBIAN)


def unpack(archive: Path, into: Path) -> None:
    """Unpack an archive that holds a single folder, as that folder; drop the archive."""
    with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as packed:
                packed.extractall(scratch)
        else:
            with tarfile.open(archive) as packed_tar:
                packed_tar.extractall(scratch, filter="data")
        (top,) = Path(scratch).iterdir()
        into.parent.mkdir(parents=True, exist_ok=True)
        top.rename(into)
    archive.unlink()


def _run(
    tool: str, arguments: list[str], folder: Path, environment: dict[str, str], *, install: str
) -> None:
    if shutil.which(tool) is None:
        raise StackError(f"`{tool}` is not on the PATH: install {install} and run this again.")
    done = subprocess.run(
        [tool, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise StackError(f"`{tool} {' '.join(arguments)}` failed:\n{tail}")

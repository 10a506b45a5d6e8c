"""The changelog's section of a version, for a release: python tools/release_notes.py v0.2.0

Fails where the tag, the package and the chart do not have the same version, or nothing is said.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


class NotReady(Exception):
    """One sentence about what a release still lacks."""


def section(changelog: str, version: str) -> str:
    """What the changelog says of a version, without its heading."""
    parts = re.split(r"^## (.*)$\n?", changelog, flags=re.MULTILINE)
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        if re.match(rf"\[?{re.escape(version)}\b(?![.\w])", heading):
            if not re.search(r"\d{4}-\d{2}-\d{2}", heading):
                raise NotReady(f"The changelog's section of {version} has no date.")
            if not body.strip():
                raise NotReady(f"The changelog says nothing of {version}.")
            return body.strip() + "\n"
    raise NotReady(f"The changelog has no section of {version}.")


def notes(root: Path, tag: str) -> str:
    """The section of the version that a tag names, if all agree on it."""
    version = tag.removeprefix("v")
    package = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    found = {"pyproject.toml": package["project"]["version"]}
    for name, text in (
        ("src/neve/__init__.py", r'^__version__ = "(.*)"$'),
        ("deploy/helm/neve/Chart.yaml", r'^appVersion: "(.*)"$'),
    ):
        match = re.search(text, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        found[name] = match[1] if match else ""
    for name, said in found.items():
        if said != version:
            raise NotReady(f"The tag is {tag}, and {name} says {said or 'nothing'}.")
    return section((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)


if __name__ == "__main__":
    try:
        sys.stdout.write(notes(ROOT, sys.argv[1]))
    except NotReady as problem:
        print(problem, file=sys.stderr)
        sys.exit(1)

"""A bucket that can be full."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.system.stack_fixtures import RunningStack


@dataclass(frozen=True)
class SmallBucket:
    """A file system in memory, mounted over the folder of a bucket."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    def resize(self, size_bytes: int) -> None:
        options = f"remount,size={size_bytes}"
        subprocess.run(["mount", "-o", options, str(self.folder)], check=True)


@pytest.fixture
def small_bucket(stack: RunningStack) -> Iterator[SmallBucket]:
    """A bucket of five megabytes."""
    folder = Path(stack.facts["s3"]["data_folder"], f"quota-{uuid.uuid4().hex[:8]}")
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=5000000", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        problem = mounted.stderr.strip() if mounted.returncode else None
    except FileNotFoundError:
        problem = "there is no mount command"
    if problem:
        folder.rmdir()
        pytest.skip(f"a bucket with a quota needs the right to mount a tmpfs: {problem}")
    yield SmallBucket(folder)
    subprocess.run(["umount", str(folder)], check=True)
    folder.rmdir()

"""What tests of the diagnosis share: damage, and ways to look at findings."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest

DAMAGES = {
    "missing": lambda path: path.unlink(),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3]),
    "zeros": lambda path: path.write_bytes(bytes(100)),
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}
damaged = pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)


def local(location):
    return Path(urlsplit(location).path)


def metadata_file(table):
    return local(table.refresh().metadata_location)


def codes(diagnosis):
    return {finding.code for finding in diagnosis.findings}


def the(diagnosis, code):
    (found,) = (finding for finding in diagnosis.findings if finding.code == code)
    return found


def edit_metadata(table, change):
    path = metadata_file(table)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))

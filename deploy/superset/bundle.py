"""Pack the dashboard for Superset: bundle.py trino://user@host:8080/iceberg [SCHEMA] > neve.zip

Superset takes it as a dashboard to import. The ids in it are fixed, so that importing it again
replaces what is there. A password is asked for by Superset, and belongs into no address here.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parent / "bundle"
ADDRESS = "trino://neve@localhost:8080/iceberg"
CATALOG, SCHEMA = "iceberg", "lakehouse"


def packed(address: str = ADDRESS, schema: str = SCHEMA) -> bytes:
    """The archive, with tables of this schema behind this address."""
    catalog = address.rstrip("/").rpartition("/")[2]
    for name in (catalog, schema):
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
            raise SystemExit(f"{name!r} is no plain name of a catalog or schema of Trino.")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(FOLDER.rglob("*.yaml")):
            text = path.read_text(encoding="utf-8").replace(ADDRESS, address)
            text = text.replace(f"{CATALOG}.{SCHEMA}.", f"{catalog}.{schema}.")
            text = text.replace(f"schema: {SCHEMA}\n", f"schema: {schema}\n")
            text = text.replace(f"catalog: {CATALOG}\n", f"catalog: {catalog}\n")
            archive.writestr(f"neve/{path.relative_to(FOLDER).as_posix()}", text)
    return made.getvalue()


if __name__ == "__main__":
    sys.stdout.buffer.write(packed(*sys.argv[1:]))

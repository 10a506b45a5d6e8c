"""Tables of an embedded catalog, each with four small files, and the neve.yaml that names it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from pyiceberg.catalog.sql import SqlCatalog

#: The command, for a process of its own.
COMMAND = "from neve.cli.main import run; run()"


def sick_tables(folder: Path, names: Sequence[str], more: Mapping[str, Any]) -> SqlCatalog:
    """The catalog, with `more` in the configuration besides it."""
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{folder / 'catalog.db'}",
        "warehouse": (folder / "warehouse").as_uri(),
    }
    configuration = {
        "catalogs": {"lake": properties},
        "state": {"url": f"sqlite:///{folder / 'state.db'}", "lease_seconds": 5},
        "spark": {"master": "local[2]"},
        **more,
    }
    (folder / "neve.yaml").write_text(yaml.safe_dump(configuration), encoding="utf-8")
    made = SqlCatalog("lake", **properties)
    made.create_namespace("db")
    for name in names:
        rows = pa.table({"id": pa.array(range(10), pa.int64())})
        table = made.create_table(("db", name), rows.schema)
        for _ in range(4):
            table.append(rows)
    return made


def rows(catalog: SqlCatalog, name: str) -> Counter[int]:
    """What a reader sees."""
    return Counter(catalog.load_table(("db", name)).scan().to_arrow()["id"].to_pylist())

"""A small QUERY in the server's own process, as it once was, and in a process of its own.

    python benchmarks/query_process.py [--queries N] [--json]

Both read the same table of a few rows, in turn; the first of each, which imports, is told apart.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from neve import Neve
from neve.apart.child import answer
from neve.apart.messages import QueryTask, read_result
from neve.database.bodies import REQUEST
from report import add_options, tell

PLACE = {"tenant_id": "a", "table": "users"}
FIELDS = {"name": {"type": "string"}, "age": {"type": "integer"}}
SQL = "SELECT name FROM users WHERE age > 20"


class InProcess:
    """What a child does, here."""

    def run(self, *asked: Any) -> Any:
        return read_result(answer(QueryTask(*asked)))

    def close(self) -> None:
        pass


def ask(database: Any) -> float:
    begun = time.perf_counter()
    found = database.query(REQUEST.validate_python({"operation": "QUERY", **PLACE, "sql": SQL}))
    assert found.row_count == 1
    return (time.perf_counter() - begun) * 1000


def measure(folder: Path, queries: int) -> dict[str, float]:
    folder.joinpath("neve.yaml").write_text(
        yaml.safe_dump({
            "catalogs": {"lake": {"type": "sql", "uri": f"sqlite:///{folder}/c.db",
                                  "warehouse": f"file://{folder}"}},
            "state": {"url": f"sqlite:///{folder}/state.db"},
        })
    )  # fmt: skip
    with Neve.open(folder / "neve.yaml") as neve:
        database = neve.database
        make = {"operation": "CREATE_TABLE", **PLACE, "schema": {"fields": FIELDS}}
        database.create_table(REQUEST.validate_python(make))
        records = [{"name": "ann", "age": 30}, {"name": "bob", "age": 20}]
        database.write(REQUEST.validate_python({"operation": "WRITE", **PLACE, "records": records}))
        first = {"apart": ask(database)}
        apart, here = database._queries(), InProcess()
        database._queries.use(here)
        first["here"] = ask(database)
        times: dict[str, list[float]] = {"apart": [], "here": []}
        for _ in range(queries):
            for name, queries_of in (("apart", apart), ("here", here)):
                database._queries.use(queries_of)
                times[name].append(ask(database))
        database._queries.use(apart)
    p50 = {f"{name}_p50_ms": median(found) for name, found in times.items()}
    return {**p50, **{f"{name}_first_ms": value for name, value in first.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=50)
    add_options(parser)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.queries)
    tell(
        options,
        found,
        f"A small QUERY: {found['apart_p50_ms']:.0f} ms in a process of its own, "
        f"{found['here_p50_ms']:.0f} ms in this one (p50 of {options.queries}); the first one "
        f"{found['apart_first_ms']:.0f} and {found['here_first_ms']:.0f} ms.",
    )


if __name__ == "__main__":
    main()

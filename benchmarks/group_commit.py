"""A thousand WRITEs at once: in groups as the database operations do it, and with a commit each.

    python benchmarks/group_commit.py [--writes N] [--alone N] [--json]

Every write has one record and an idempotency key, and every fifth is sent twice, as a client does
whose answer was lost. Afterwards the table is read: no record may be missing, none may be there
twice. `alone` commits one write after the other, as pyiceberg's `append` does it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml
from pyiceberg.table import Table

from neve import Neve
from neve.database.bodies import REQUEST
from neve.database.service import Database
from report import add_options, tell

FIELDS = {"number": {"type": "integer", "required": True}, "text": {"type": "string"}}


def request(operation: str, table: str, **more: Any) -> Any:
    place = {"tenant_id": "bench", "namespace": "default", "table": table}
    return REQUEST.validate_python({"operation": operation, **place, **more})


def in_groups(database: Database, writes: int) -> float:
    """All at once; seconds until the last one was acknowledged."""
    asked = [
        request("WRITE", "gathered", records=[{"number": n, "text": "x"}], idempotency_key=str(n))
        for n in range(writes)
    ]
    begun = time.perf_counter()
    futures = [database.begin_write(one) for one in asked]
    futures += [database.begin_write(one) for one in asked[::5]]
    for future in futures:
        future.result()
    return time.perf_counter() - begun


def alone(table: Table, writes: int) -> float:
    """One commit each; seconds for all of them."""
    schema = pa.schema(
        [pa.field("number", pa.int64(), nullable=False), pa.field("text", pa.string())]
    )
    begun = time.perf_counter()
    for number in range(writes):
        table.append(pa.table([[number], ["x"]], schema=schema))
    return time.perf_counter() - begun


def measure(folder: Path, writes: int, single: int) -> dict[str, Any]:
    path = folder / "neve.yaml"
    warehouse = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": str(folder)}
    state = {"url": f"sqlite:///{folder}/state.db"}
    path.write_text(yaml.safe_dump({"catalogs": {"lake": warehouse}, "state": state}))
    with Neve.open(path) as neve:
        database = neve.database
        for table in ("gathered", "alone", "warm"):
            database.create_table(request("CREATE_TABLE", table, schema={"fields": FIELDS}))
        database.write(request("WRITE", "warm", records=[{"number": 0}]))
        seconds = in_groups(database, writes)
        catalog = neve._app.catalogs.writable("lake")
        lonely = alone(catalog.load_table(("t_bench__default", "alone")), single)
        gathered = catalog.load_table(("t_bench__default", "gathered"))
        numbers = gathered.scan(selected_fields=("number",)).to_arrow()["number"].to_pylist()
    rates = writes / seconds, single / lonely
    return {
        "writes": writes,
        "seconds": round(seconds, 3),
        "snapshots": len(gathered.metadata.snapshots),
        "lost": len(set(range(writes)) - set(numbers)),
        "doubled": len(numbers) - len(set(numbers)),
        "writes_per_second": round(rates[0], 1),
        "writes_per_second_with_a_commit_each": round(rates[1], 1),
        "times": round(rates[0] / rates[1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writes", type=int, default=1000)
    parser.add_argument("--alone", type=int, default=100)
    add_options(parser)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), arguments.writes, arguments.alone)
    text = (
        f"{found['writes']} writes at once: {found['snapshots']} snapshots, "
        f"{found['writes_per_second']} writes/s; with a commit each "
        f"{found['writes_per_second_with_a_commit_each']} writes/s: {found['times']} times.\n"
        f"Lost: {found['lost']}, doubled: {found['doubled']}."
    )
    tell(arguments, found, text)
    if found["lost"] or found["doubled"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

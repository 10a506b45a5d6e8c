"""How long health and plan of many small tables take, as commands, from a cold start.

    python benchmarks/many_tables.py [--tables 1000] [--json]

Every table has twenty files in four manifests, in the embedded catalog. No data, no JVM.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from report import add_options, tell
from synthetic import make_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--tables", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(arguments.tables):
            make_table(folder, f"t{number:05d}", files=20, manifests=4, columns=10, partitions=2)
        config = folder / "neve.yaml"
        config.write_text(
            "catalogs: {lake: {type: sql, uri: 'sqlite:///catalog.db', warehouse: warehouse}}\n"
            "state: {url: 'sqlite:///state.db'}\n"
        )
        health = _run(config, "health", 0)
        plan = _run(config, "plan", 2)
    result = {
        "tables": arguments.tables,
        "health_s": health["seconds"],
        "plan_s": plan["seconds"],
        "total_s": health["seconds"] + plan["seconds"],
        "tables_judged": len(health["document"]),
        "plans_with_work": sum(1 for item in plan["document"]["plans"] if item["steps"]),
    }
    tell(
        arguments,
        result,
        f"{result['tables']} tables: health {result['health_s']:.1f} s, "
        f"plan {result['plan_s']:.1f} s, together {result['total_s']:.1f} s "
        f"({result['plans_with_work']} with work)",
    )


def _run(config: Path, command: str, expected_code: int) -> dict[str, Any]:
    program = str(Path(sys.executable).parent / "neve")
    words = [program, command, "lake.bench.*", "-o", "json", "--config", str(config)]
    started = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    if done.returncode != expected_code:
        raise SystemExit(f"neve {command} ended with {done.returncode}: {done.stderr}")
    return {"seconds": seconds, "document": json.loads(done.stdout)}


if __name__ == "__main__":
    main()

"""How fast rows are fingerprinted, in Arrow memory per second of one core.

Run `python benchmarks/fingerprints.py`; add `--json` for figures to keep.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pyarrow as pa

from neve.rows.fingerprint import fingerprint
from neve.rows.schema import LIST, STRUCT, Field, Schema, Type
from report import add_options, tell

DEC = Type("decimal", precision=18, scale=2)


def columns(rows: int) -> dict[str, tuple[Type, Any]]:
    """One column of each kind."""
    random = np.random.default_rng(7)
    numbers = random.integers(0, 2**40, rows)
    words = pa.array([f"word {value}" for value in random.integers(0, 10**9, rows)])
    texts = pa.array(["lorem ipsum " * int(value) for value in random.integers(0, 16, rows)])
    kinds = pa.array([f"kind-{value}" for value in random.integers(0, 200, rows)])
    money = pa.array(numbers % 10**9).cast(pa.decimal128(21, 2)).cast(pa.decimal128(18, 2))
    with_nulls = pa.array(numbers, mask=random.random(rows) < 0.2)
    offsets = pa.array(np.arange(0, 3 * rows + 1, 3), pa.int32())
    many = pa.array(random.integers(0, 100, 3 * rows))
    inside = pa.StructArray.from_arrays([with_nulls, words], ["n", "w"])
    pair = (Field(20, "n", False, Type("long")), Field(21, "w", False, Type("string")))
    return {
        "long": (Type("long"), pa.array(numbers)),
        "long, a fifth null": (Type("long"), with_nulls),
        "int": (Type("int"), pa.array(numbers.astype(np.int32))),
        "double": (Type("double"), pa.array(random.random(rows))),
        "timestamptz": (Type("timestamptz"), pa.array(numbers, pa.timestamp("us", "UTC"))),
        "boolean": (Type("boolean"), pa.array(numbers % 2 == 0)),
        "decimal(18, 2)": (DEC, money),
        "string, 14 bytes": (Type("string"), words),
        "string, 0 to 180 bytes": (Type("string"), texts),
        "string, 200 values": (Type("string"), kinds),
        "string, dictionary": (Type("string"), kinds.dictionary_encode()),
        "list of 3 longs": (
            Type(LIST, (Field(22, "element", False, Type("long")),)),
            pa.ListArray.from_arrays(offsets, many),
        ),
        "struct of long and string": (Type(STRUCT, pair), inside),
    }


def measure(found: Any, schema: Schema, repeats: int) -> dict[str, object]:
    """The fastest of a few runs."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        fingerprint(found, schema)
        seconds.append(time.process_time() - start)
    best = min(seconds)
    size = found.nbytes
    return {
        "megabytes": round(size / 1e6, 1),
        "megabytes_per_cpu_second": round(size / 1e6 / best),
        "nanoseconds_per_row": round(best * 1e9 / found.num_rows, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    made = columns(options.rows)
    figures = []
    for name, (kind, array) in made.items():
        found = pa.table({"c": array})
        schema = Schema((Field(1, "c", False, kind),))
        figures.append({"columns": name, **measure(found, schema, options.repeats)})
    fields = [
        Field(at, name, False, kind) for at, (name, (kind, _)) in enumerate(made.items(), 100)
    ]
    whole = pa.table({name: array for name, (_, array) in made.items()})
    figures.append({"columns": "all", **measure(whole, Schema(tuple(fields)), options.repeats)})
    lines = ["columns                     MB of Arrow  MB per CPU-s  ns per row"]
    for each in figures:
        lines.append(
            f"{each['columns']:<26}  {each['megabytes']:>11}  "
            f"{each['megabytes_per_cpu_second']:>12}  {each['nanoseconds_per_row']:>10}"
        )
    tell(options, figures, "\n".join(lines))


if __name__ == "__main__":
    main()

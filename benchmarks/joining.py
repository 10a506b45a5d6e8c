"""What joining pages costs beside decoding and encoding them, by file size, writer and entropy.

    python benchmarks/joining.py [--megabytes 60] [--no-spark] [--json]

The same files are made one by assembly, with pages joined, and by Arrow, which decodes and encodes
them as large row groups. `min_page_bytes` comes from the sizes at which joining stops paying.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from neve.parquet.assembly.decide import plan_assembly
from neve.parquet.assembly.files import assemble_local
from neve.parquet.assembly.plan import AssemblyLimits, Kind
from neve.parquet.assembly.source import load_assembly_source
from neve.parquet.assembly.wanted import wanted_schema
from neve.storage.readers import LocalReader
from report import add_options, tell

#: Rows that make files of about 85 KB, 660 KB, 1 MB and 5 MB, by entropy.
SIZES = {
    "high": {"85 KB": 1_700, "660 KB": 14_000, "1 MB": 22_000, "5 MB": 110_000},
    "low": {"85 KB": 6_000, "660 KB": 50_000, "1 MB": 80_000, "5 MB": 400_000},
}
#: Pages of a chunk from tiny to large, to see where joining stops paying.
ROW_GROUP_BYTES = 128 * 1024 * 1024
PAGE_ROWS = (50, 100, 200, 400, 1_000, 4_000)


def make_table(rows: int, first: int, entropy: str) -> pa.Table:
    """Ids and times that grow, measures, texts, and columns of few values."""
    chance = random.Random(first)
    numbers = range(first, first + rows)
    wide = 1 << 48 if entropy == "high" else 1 << 10
    columns = {
        "id": pa.array(numbers, pa.int64()),
        "at": pa.array(
            [1_700_000_000_000_000 + 1_000_000 * n + chance.randrange(wide) for n in numbers],
            pa.timestamp("us", tz="UTC"),
        ),
        "amount": pa.array([chance.randrange(wide) / 100 for _ in numbers]),
        "total": pa.array([chance.randrange(wide) for _ in numbers], pa.int64()),
        "text": [f"{chance.randrange(wide):x}-{n}" for n in numbers],
        "country": [f"c{chance.randrange(40)}" for _ in numbers],
        "status": [("new", "paid", "sent")[chance.randrange(3)] for _ in numbers],
        "day": pa.array([19_000 + n // 100_000 for n in numbers], pa.date32()),
    }
    table = pa.table(columns)
    fields = [
        field.with_metadata({b"PARQUET:field_id": str(number + 1).encode()})
        for number, field in enumerate(table.schema)
    ]
    return table.cast(pa.schema(fields))


def by_pyarrow(folder: Path, tables: list[pa.Table], **options: Any) -> None:
    for number, table in enumerate(tables):
        path = folder / f"{number:05}.parquet"
        pq.write_table(table, path, compression="zstd", store_schema=False, **options)


class Spark:
    """parquet-java as the writer, with field ids."""

    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        self.session = (
            builder.config("spark.sql.parquet.fieldId.write.enabled", "true")
            .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
            .config("spark.sql.files.openCostInBytes", str(1 << 30))
            .config("spark.driver.memory", "1g")
            .getOrCreate()
        )

    def write(self, folder: Path, tables: list[pa.Table], **_options: Any) -> None:
        """One job; every staged file is a partition, and every partition becomes a file."""
        from pyspark.sql.functions import col

        staged, written = (folder.with_name(f"{folder.name}-{part}") for part in ("in", "out"))
        staged.mkdir()
        by_pyarrow(staged, tables)
        frame = self.session.read.parquet(str(staged))
        numbered = [
            col(name).alias(name, metadata={"parquet.field.id": ordinal + 1})
            for ordinal, name in enumerate(frame.columns)
        ]
        frame.select(*numbered).write.option("compression", "zstd").parquet(str(written))
        for number, path in enumerate(sorted(written.glob("part-*.parquet"))):
            path.rename(folder / f"{number:05}.parquet")
        shutil.rmtree(staged)
        shutil.rmtree(written)


Writer = Callable[..., None]


def make_files(
    folder: Path, write: Writer, rows: int, entropy: str, total_bytes: int, **options: Any
) -> list[Path]:
    """Files of this many rows, all different, until they have about the size that is asked for."""
    folder.mkdir()
    trial = pa.BufferOutputStream()
    pq.write_table(make_table(rows, 0, entropy), trial, compression="zstd", use_dictionary=False)
    count = max(4, total_bytes // trial.tell())
    write(folder, [make_table(rows, number * rows, entropy) for number in range(count)], **options)
    return sorted(folder.glob("*.parquet"))


def assemble(paths: list[Path], target: Path, limits: AssemblyLimits) -> dict[Kind, int]:
    """Footers read, planned, written and read back: all that a task would do."""
    sources = []
    for path in paths:
        with LocalReader(path) as reader:
            sources.append(load_assembly_source(reader))
    wanted = wanted_schema(pq.read_schema(paths[0]))
    plan = plan_assembly(sources, wanted, limits)
    return assemble_local(plan, target).bytes_by_kind


def arrow(paths: list[Path], target: Path) -> None:
    """Decode and encode, 128 MB at a time, with dictionaries where the sources have them."""
    first = pq.read_metadata(paths[0]).row_group(0)
    columns = [first.column(number) for number in range(first.num_columns)]
    keep = [column.path_in_schema for column in columns if column.has_dictionary_page]
    schema = pq.ParquetFile(paths[0]).schema_arrow
    with pq.ParquetWriter(
        target, schema, compression="zstd", use_dictionary=keep or False, write_page_index=True
    ) as writer:
        tables: list[pa.Table] = []
        size = 0
        for path in paths:
            tables.append(pq.ParquetFile(path).read(use_threads=False))
            size += path.stat().st_size
            if size >= ROW_GROUP_BYTES:
                writer.write_table(pa.concat_tables(tables), row_group_size=1 << 26)
                tables, size = [], 0
        if tables:
            writer.write_table(pa.concat_tables(tables), row_group_size=1 << 26)


def measure(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU-seconds of this process, the better of two runs."""
    best, result = float("inf"), None
    for _ in range(2):
        before = time.process_time()
        result = work()
        best = min(best, time.process_time() - before)
    return best, result


def compare(folder: Path, paths: list[Path], limits: AssemblyLimits) -> dict[str, Any]:
    megabytes = sum(path.stat().st_size for path in paths) / 1e6
    target = folder / "new.parquet"

    def ours() -> dict[Kind, int]:
        target.unlink(missing_ok=True)
        return assemble(paths, target, limits)

    cpu, kinds = measure(ours)
    size = target.stat().st_size
    scan, _ = measure(lambda: pq.ParquetFile(target).read(use_threads=False).num_rows)
    arrow_cpu, _ = measure(lambda: arrow(paths, target))
    arrow_scan, _ = measure(lambda: pq.ParquetFile(target).read(use_threads=False).num_rows)
    total = sum(kinds[kind] for kind in (Kind.COPIED, Kind.JOINED, Kind.ENCODED))
    return {
        "files": len(paths),
        "megabytes": round(megabytes, 1),
        "cpu_s": round(cpu, 2),
        "mb_per_cpu_s": round(megabytes / cpu, 1),
        "kept_share": round((kinds[Kind.COPIED] + kinds[Kind.JOINED]) / total, 2),
        "size_ratio": round(size / target.stat().st_size, 2),
        "arrow_cpu_s": round(arrow_cpu, 2),
        "arrow_mb_per_cpu_s": round(megabytes / arrow_cpu, 1),
        "scan_cpu_s": round(scan, 2),
        "arrow_scan_cpu_s": round(arrow_scan, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--no-spark", action="store_true")
    arguments = parser.parse_args()
    total = arguments.megabytes * 1_000_000
    writers: dict[str, Writer] = {} if arguments.no_spark else {"Spark": Spark().write}
    writers["pyarrow"] = by_pyarrow
    folder = Path(tempfile.mkdtemp(prefix="neve-bench-"))
    rows: list[dict[str, Any]] = []
    try:
        for page_rows in PAGE_ROWS:
            inside = folder / f"pages-{page_rows}"
            options = {"use_dictionary": False, "max_rows_per_page": page_rows}
            paths = make_files(inside, by_pyarrow, 14_000, "high", total, **options)
            found = compare(inside, paths, AssemblyLimits(min_page_bytes=1))
            name = f"{page_rows} rows"
            print(name, found, file=sys.stderr)
            rows.append({"writer": "pages of", "entropy": "high", "file": name, **found})
            shutil.rmtree(inside)
        for writer, write in writers.items():
            for entropy, sizes in SIZES.items():
                for name, count in sizes.items():
                    inside = folder / f"{writer}-{entropy}-{count}"
                    paths = make_files(inside, write, count, entropy, total)
                    # Files of 5 MB are as large as row groups that are kept; here they are joined.
                    limits = AssemblyLimits(keep_row_group_bytes=ROW_GROUP_BYTES)
                    found = compare(inside, paths, limits)
                    print(writer, entropy, name, found, file=sys.stderr)
                    rows.append({"writer": writer, "entropy": entropy, "file": name, **found})
                    shutil.rmtree(inside)
    finally:
        shutil.rmtree(folder)
    lines = [
        "                                  assembled     kept  size       Arrow        scan CPU-s",
        "writer entropy      file   files  CPU-s  MB/s   bytes ratio   CPU-s   MB/s   ours Arrow",
    ]
    lines += [
        f"{row['writer']:<9}{row['entropy']:<6}{row['file']:>9}{row['files']:>8}{row['cpu_s']:>7}"
        f"{row['mb_per_cpu_s']:>6.0f}{row['kept_share']:>8.0%}{row['size_ratio']:>6}"
        f"{row['arrow_cpu_s']:>8}{row['arrow_mb_per_cpu_s']:>7.0f}{row['scan_cpu_s']:>7}"
        f"{row['arrow_scan_cpu_s']:>6}"
        for row in rows
    ]
    tell(arguments, rows, "\n".join(lines))


if __name__ == "__main__":
    main()

"""Compact one table inside a submitted Spark application, by the engines of `neve compact`.

    spark-submit jobs/compact_table.py --table lakehouse.production.events \\
        --partition "event_date = DATE '2025-01-16'" --target-size-mb 128 --min-size-mb 10

The session is the application's own, with the catalogs of its configuration. Neve's configuration
names the same catalogs: it is found by NEVE_CONFIG, or as neve.yaml in the working folder, where
`spark-submit --files neve.yaml` puts it.
"""

from __future__ import annotations

import argparse
import sys

from pyspark.sql import SparkSession

from neve import Neve
from neve.model.errors import NeveError
from neve.model.outcome import Outcome

MB = 1024 * 1024
OPTIONS = "rewrite_data_files.options"


def compact_table(
    table: str, partition: str | None = None, target_size_mb: int = 128, min_size_mb: int = 10
) -> Outcome:
    """Rewrite files under the minimum into files of the target size."""
    overrides: dict[str, object] = {
        f"{OPTIONS}.target-file-size-bytes": str(target_size_mb * MB),
        f"{OPTIONS}.min-file-size-bytes": str(min_size_mb * MB),
        f"{OPTIONS}.min-input-files": "2",
    }
    if partition is not None:
        overrides["rewrite_data_files.where"] = partition
    session = SparkSession.builder.getOrCreate()
    with Neve.open(spark=session) as neve:
        return neve.run(table, overrides=overrides, requested_by="spark-submit")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compact one Iceberg table.")
    parser.add_argument("--table", required=True)
    parser.add_argument("--partition", help="only files that may hold matching rows")
    parser.add_argument("--target-size-mb", type=_megabytes, default=128)
    parser.add_argument("--min-size-mb", type=_megabytes, default=10)
    try:
        outcome = compact_table(**vars(parser.parse_args(arguments)))
    except NeveError as error:
        sys.stderr.write(f"{error.message} {error.next_step or ''}\n")
        return 1
    sys.stdout.write(f"{outcome.table}: {outcome.status}. {outcome.reason}\n")
    return 0 if outcome.status.is_good else 1


def _megabytes(text: str) -> int:
    size = int(text)
    if size <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a size in MB")
    return size


if __name__ == "__main__":
    sys.exit(main())

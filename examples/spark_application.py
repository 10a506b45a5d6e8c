"""Compacts one table inside a Spark application: spark-submit spark_application.py NAME"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from neve import Neve


def main(table: str) -> int:
    spark = SparkSession.builder.appName("compact").getOrCreate()
    with Neve.open(spark=spark) as neve:
        outcome = neve.run(table, "rewrite_data_files")
    print(outcome.status, outcome.reason)
    return 0 if outcome.status.is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""A program that compacts one table by Iceberg's own procedure, as a user would write it."""

from __future__ import annotations

import json
import os
import sys

from pyspark.sql import SparkSession

from neve.spark.conf import EXTENSIONS, catalog_conf, packages
from neve.spark.jars import cached_jars


def main() -> None:
    catalogs, table = json.loads(sys.argv[1]), sys.argv[2]
    jars = cached_jars(packages(catalogs), os.environ) or []
    builder = SparkSession.builder.appName("compaction").master("local[2]")
    builder = builder.config("spark.sql.extensions", EXTENSIONS).config("spark.ui.enabled", "false")
    builder = builder.config("spark.jars", ",".join(jars)).config("spark.driver.memory", "2g")
    for name, properties in catalogs.items():
        for key, value in catalog_conf(name, properties).items():
            builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sql(
        "CALL lake.system.rewrite_data_files(table => :table, options => map("
        "'target-file-size-bytes', '134217728', 'min-input-files', '2'))",
        args={"table": table},
    ).collect()
    session.stop()


if __name__ == "__main__":
    main()

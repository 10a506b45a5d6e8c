"""A program that compacts one table by Iceberg's own procedure, as a user would write it."""

from __future__ import annotations

import json
import sys

from neve.spark.session import build_session


def main() -> None:
    catalogs, table = json.loads(sys.argv[1]), sys.argv[2]
    session = build_session(catalogs, master="local[2]", conf={}, reporter=print)
    session.sql(
        "CALL lake.system.rewrite_data_files(table => :table, options => map("
        "'target-file-size-bytes', '134217728', 'min-input-files', '2'))",
        args={"table": table},
    ).collect()
    session.stop()


if __name__ == "__main__":
    main()

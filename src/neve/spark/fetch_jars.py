"""python -m neve.spark.fetch_jars: every jar that a configuration may ask for, into NEVE_CACHE.

For images: what is there when they are made is not fetched when they start. The package for
executors of a cluster is written, too: a container may not write into its cache.
"""

from __future__ import annotations

import os
import sys
from itertools import combinations

from neve.model.errors import NeveError
from neve.spark.jars import (
    AWS_BUNDLE,
    POSTGRES_DRIVER,
    SPARK_RUNTIME,
    SQLITE_DRIVER,
    resolve_jars,
)
from neve.spark.java import find_java
from neve.spark.package import cached_package

OPTIONAL = (SQLITE_DRIVER, POSTGRES_DRIVER, AWS_BUNDLE)


def all_packages() -> list[list[str]]:
    """Every set of coordinates that catalogs may need, the largest first: it fetches the rest."""
    chosen = [
        [SPARK_RUNTIME, *some]
        for count in range(len(OPTIONAL) + 1)
        for some in combinations(OPTIONAL, count)
    ]
    return chosen[::-1]


def main() -> int:
    try:
        java = find_java(os.environ)
        for wanted in all_packages():
            jars = resolve_jars(wanted, java, os.environ, lambda _: None)
            print(f"{len(jars)} jars: {', '.join(wanted)}", flush=True)  # noqa: T201
        print(f"For executors: {cached_package(os.environ).name}")  # noqa: T201
    except NeveError as error:
        print(f"{error.message} {error.next_step or ''}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Native rewrites beside Iceberg's own, on random tables, for as long as is asked.

    python -m tests.fuzz.run [--seconds 300] [--seed N] [--shrink-seconds 120] [--replay JSON]

Says its seed first. A failure is made smaller and ends with the line that shows it again.
"""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

from pyiceberg.catalog import load_catalog
from tests.fuzz.histories import History, from_json
from tests.fuzz.rounds import SHRINK_SECONDS, Examine, Found, Tally, run
from tests.fuzz.twins import Verdict, examine
from tests.spark.conftest import CATALOG, TEST_SIZED, Lake

from neve.app import build_app
from neve.settings import Settings, SparkSettings, StateSettings
from neve.spark.engine import BorrowedEngine
from neve.spark.session import build_session
from neve.testing.lake import SilentReporter

#: Histories that are drawn from one seed; the next batch has the next one.
BATCH = 10


@contextmanager
def bench(folder: Path) -> Iterator[Examine]:
    """A session and a catalog of their own, and a way to examine histories on them."""
    catalogs = {
        CATALOG: {
            "type": "sql",
            "uri": f"sqlite:///{folder / 'catalog.db'}",
            "warehouse": (folder / "warehouse").as_uri(),
        }
    }
    session = build_session(catalogs, master="local[2]", conf=TEST_SIZED, reporter=SilentReporter())
    session.sparkContext.setLogLevel("OFF")
    # What Iceberg refuses is part of a history, and no news.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    settings = Settings(
        catalogs=catalogs,
        spark=SparkSettings(master="local[2]", conf=TEST_SIZED),
        state=StateSettings(url=f"sqlite:///{folder / 'state.db'}"),
    )
    app = build_app(settings, SilentReporter())
    app.engine.use(BorrowedEngine(session))
    lake, numbers = Lake(session, app, "fuzz"), count(1)
    session.sql(f"CREATE NAMESPACE {CATALOG}.{lake.namespace}")
    with closing(load_catalog(CATALOG, **catalogs[CATALOG])) as catalog:

        def judge(history: History) -> Verdict:
            try:
                return examine(lake, catalog, folder, history, f"t{next(numbers)}")
            finally:
                for table in catalog.list_tables(lake.namespace):
                    catalog.drop_table(table)
                shutil.rmtree(folder / "warehouse", ignore_errors=True)

        yield judge
    session.stop()


def tell(tally: Tally) -> None:
    print(f"{tally.histories} histories, none that differs.")
    for title in ("engines", "done", "reasons", "notes"):
        for name, number in getattr(tally, title).most_common():
            print(f"  {title:8} {number:5} {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--shrink-seconds", type=float, default=SHRINK_SECONDS)
    parser.add_argument("--replay", help="A history, as a failure tells it.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="neve-fuzz-") as name, bench(Path(name)) as judge:
        if arguments.replay:
            print(judge(from_json(arguments.replay)))
            return 0
        print(f"Seed {arguments.seed}", flush=True)
        tally, end = Tally(), time.monotonic() + arguments.seconds
        for seed in count(arguments.seed):
            try:
                run(
                    judge,
                    seed=seed,
                    examples=BATCH,
                    tally=tally,
                    shrink_seconds=arguments.shrink_seconds,
                )
            except Found as found:
                print(found, flush=True)
                return 1
            if time.monotonic() > end:
                break
        tell(tally)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Random histories of tables, and those that once failed: Neve's cure is as Iceberg's own.

`make fuzz SECONDS=600` goes on for as long as is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from tests.fuzz.histories import History, from_json
from tests.fuzz.rounds import Tally, run
from tests.fuzz.twins import Verdict, examine

pytestmark = pytest.mark.promise(1, 2)

FOUND = sorted((Path(__file__).parents[2] / "fuzz" / "found").glob("*.json"))
SEED, HISTORIES = 7, 6


@pytest.fixture
def catalog(catalogs, lake) -> Iterator[Catalog]:
    with closing(load_catalog("lake", **catalogs["lake"])) as opened:
        yield opened


@pytest.mark.conformance("random histories", versions=(1, 2, 3), engines=("copy", "rewrite"))
def test_random_histories_end_as_with_iceberg(lake, catalog, tmp_path):
    numbers, tally = count(1), Tally()

    def judge(history: History) -> Verdict:
        return examine(lake, catalog, tmp_path, history, f"t{next(numbers)}")

    run(judge, seed=SEED, examples=HISTORIES, tally=tally)

    assert tally.histories == HISTORIES
    # A run that leaves everything to Iceberg shows nothing.
    assert any("rewrite" in engines or "copy" in engines for engines in tally.engines)


@pytest.mark.conformance("random histories", versions=(1, 2, 3), engines=("copy", "rewrite"))
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_once_failed_does_not_again(lake, catalog, tmp_path, path):
    examine(lake, catalog, tmp_path, from_json(path.read_text(encoding="utf-8")), "t")

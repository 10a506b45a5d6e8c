"""Random files and random predicates: no reader finds other rows in what becomes of them.

Every case is a partition of its own, so that one compaction copies all of them. Each run has a case
for every way in which bounds were ever wrong. `FILES_SEED` draws others (several seeds with commas
between them), `FILES_CASES` more for each seed, and `FILES_ONLY` one of them again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import UUIDType
from pyspark.sql import SparkSession
from tests.nasty_bounds import NASTY, nasty
from tests.random_files import (
    DUCKDB,
    PARTITION,
    PYARROW,
    PYICEBERG,
    SPARK,
    Column,
    columns_of,
    exact,
    half,
    iceberg_schema,
    inverted,
    of_nan,
    padded,
    signed,
    truncated,
    wide,
)
from tests.spark.cases.drawn_tables import Case, DrawnTable, draw_case, nasty_case

from neve.model.outcome import Status
from neve.model.policy import CompactionPolicy

#: The engines that describe new files themselves, and from which row groups on files are copied.
ENGINES = {
    engine: CompactionPolicy(min_row_group_bytes=size, min_input_files=2)
    for engine, size in (("copy", 1), ("rewrite", 2**30))
}
SEEDS = os.environ.get("FILES_SEED", "1,2,3").split(",")
CASES = int(os.environ.get("FILES_CASES", "1"))
STYLES = (exact, truncated, wide, padded, half, of_nan, inverted, signed)
ONLY = os.environ.get("FILES_ONLY")


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Compiling a predicate takes longer than asking it of a few rows."""
    settings = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key in settings:
        spark.conf.unset(key)


@pytest.fixture
def catalog(catalogs, lake) -> Iterator[Catalog]:
    with closing(load_catalog("lake", **catalogs["lake"])) as opened:
        yield opened


def make_table(lake: Any, catalog: Catalog, schema: Schema, folder: Path) -> DrawnTable:
    table = lake.ref("drawn")
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), PARTITION))
    made = catalog.create_table((lake.namespace, table.name), schema, partition_spec=spec)
    assert made.schema() == schema
    return DrawnTable(lake, table, catalog, schema.as_arrow(), folder)


def draw_cases(columns: Sequence[Column], writers: Sequence[str]) -> list[Case]:
    drawn = [partial(draw_case, seed) for seed in SEEDS for _ in range(CASES)]
    made = [draw(number, columns, writers) for number, draw in enumerate(drawn)]
    for number, style in enumerate(STYLES, len(made)):
        made.append(nasty_case(SEEDS[number % len(SEEDS)], number, columns, writers, style))
    return made


def found_in(cases: Sequence[Case], columns: Sequence[Column]) -> set[str]:
    return {
        name
        for case in cases
        for file in case.files
        if file.metrics
        for name in nasty(columns, file.rows, file.metrics)
    }


@pytest.mark.parametrize(
    "writers", [(SPARK, PYICEBERG, PYARROW, PYARROW), (DUCKDB,)], ids=["mixed", "DuckDB"]
)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.usefixtures("interpreted")
def test_every_reader_finds_the_same_rows_in_new_files(lake, catalog, tmp_path, writers, engine):
    columns = columns_of(writers[0])
    cases = draw_cases(columns, writers)
    if ONLY:
        cases = [case for case in cases if case.number == int(ONLY)]
    else:
        assert found_in(cases, columns) >= NASTY
    written = make_table(lake, catalog, iceberg_schema(columns), tmp_path)
    written.fill(cases)
    before = written.asked(cases)

    outcome = lake.compact(written.table, policy=ENGINES[engine])

    assert (outcome.status, outcome.engines[engine]) == (Status.SUCCEEDED, len(cases)), outcome
    after, dropped = written.asked(cases), written.dropped_whole(cases)
    asked = [(case, question) for case in cases for question in case.questions]
    for place, (case, question) in enumerate(asked):
        truth = case.answer(question)
        for reader in before:
            told = f"{reader}, {SEEDS} {case.number} {case.honesty}: {question.sql(SPARK)}"
            then, now = before[reader][place], after[reader][place]
            # DuckDB takes NaN for a value within bounds that leave it out, in old files as in new.
            assert then & truth <= now <= truth | (then if reader == DUCKDB else set()), told
            if reader == DUCKDB and before[reader][place] != truth:
                # It reads no manifest, and misses NaN where Parquet's statistics leave it out.
                continue
            if case.honesty == "lying" or (reader == SPARK and question.asks_of(UUIDType)):
                # Iceberg takes the halves of a UUID for signed, also in row groups.
                continue
            assert after[reader][place] == truth, told
            if case.honesty == "honest":
                assert before[reader][place] == truth, told
        if case.honesty != "lying" and dropped[place]:
            assert truth == case.keys, f"{SEEDS} {case.number}: DELETE {question.sql(SPARK)}"

"""Tables of random files, and what readers find in them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import And, EqualTo
from pyiceberg.types import UUIDType
from tests.nasty_bounds import is_hidden_lie
from tests.random_files import (
    DOUBTFUL,
    DUCKDB,
    HONEST,
    KEY,
    LYING,
    PARTITION,
    PYARROW,
    PYICEBERG,
    SPARK,
    TEXTUAL,
    Column,
    Row,
    Style,
    draw_metrics,
    draw_rows,
    draw_styles,
    exact,
    nasty_rows,
    told_by,
)
from tests.random_questions import Question, draw_question

from neve.model.rewrite import ColumnMetrics, FileDetails
from neve.spark.rewrite.commit import java_files
from neve.spark.tables import iceberg, spark_name

QUESTIONS = 6
#: How many questions Spark gets at once, each as a scan of its own.
TOGETHER = 30
#: What manifests say: the truth; what is wrong and shows it; what is wrong and does not.
HONESTY = {"honest": HONEST, "doubtful": DOUBTFUL, "lying": LYING}


@dataclass(frozen=True)
class File:
    writer: str
    rows: tuple[Row, ...]
    #: Of a writer that leaves them to whoever adds its files.
    metrics: ColumnMetrics | None


@dataclass(frozen=True)
class Case:
    number: int
    honesty: str
    files: tuple[File, ...]
    questions: tuple[Question, ...]

    @property
    def keys(self) -> set[int]:
        return {row[KEY] for file in self.files for row in file.rows}

    def answer(self, question: Question) -> set[int]:
        return {row[KEY] for file in self.files for row in file.rows if question.holds(row)}


def draw_case(seed: str, number: int, columns: Sequence[Column], writers: Sequence[str]) -> Case:
    choose = random.Random(f"{seed}:{'-'.join(writers)}:{number}")
    honesty = choose.choice(("honest", "doubtful", "doubtful", "lying"))
    styles = draw_styles(choose, columns, HONESTY[honesty])
    files = []
    for place in range(choose.randint(2, 4)):
        keys = range(100 * number + 10 * place, 100 * number + 10 * place + choose.randint(1, 5))
        rows, writer = draw_rows(choose, columns, number, keys), choose.choice(writers)
        metrics = None
        if writer in (PYARROW, DUCKDB):
            metrics = draw_metrics(choose, columns, rows, styles)
        files.append(File(writer, tuple(rows), metrics))
    return _asked(choose, columns, number, honesty, files)


def nasty_case(
    seed: str, number: int, columns: Sequence[Column], writers: Sequence[str], style: Style
) -> Case:
    """One file of which every column is told by one style, beside an exact one."""
    choose = random.Random(f"{seed}:{'-'.join(writers)}:{style.__name__}")
    writer = next(writer for writer in writers if writer in (PYARROW, DUCKDB))
    odd = nasty_rows(columns, number, range(100 * number, 100 * number + 4))
    keys = range(100 * number + 10, 100 * number + 13)
    plain = draw_rows(choose, columns, number, keys)
    files = [
        File(writer, tuple(odd), told_by(choose, columns, odd, style)),
        File(writer, tuple(plain), told_by(choose, columns, plain, exact)),
    ]
    honesty = "honest" if style in HONEST else "doubtful"
    return _asked(choose, columns, number, honesty, files)


def _asked(
    choose: random.Random,
    columns: Sequence[Column],
    number: int,
    honesty: str,
    files: Sequence[File],
) -> Case:
    if honesty == "doubtful" and any(
        file.metrics and is_hidden_lie(columns, file.rows, file.metrics) for file in files
    ):
        honesty = "lying"
    asked_of = [choose.choice(kind) for kind in _kinds(columns)]
    rows = [row for file in files for row in file.rows]
    questions = tuple(draw_question(choose, asked_of, rows) for _ in range(QUESTIONS))
    return Case(number, honesty, tuple(files), questions)


def _kinds(columns: Sequence[Column]) -> list[list[Column]]:
    """Numbers with NaN, values with more than one order, and the others."""
    floating = [column for column in columns if column.is_floating]
    ordered = [column for column in columns if isinstance(column.of, (*TEXTUAL, UUIDType))]
    return [floating, ordered, [c for c in columns if c not in floating and c not in ordered]]


@dataclass(frozen=True)
class DrawnTable:
    """A table that holds the files of all cases, each in a partition of its own."""

    lake: Any
    table: Any
    catalog: Catalog
    schema: pa.Schema
    folder: Path

    def fill(self, cases: Sequence[Case]) -> None:
        for writer, append in ((SPARK, self._by_spark), (PYICEBERG, self._by_pyiceberg)):
            left = [[file for file in case.files if file.writer == writer] for case in cases]
            # One commit writes at most one file of each case.
            while any(left):
                append([row for files in left if files for row in files.pop().rows])
        added = [
            self._written_alone(file, case.number, place)
            for case in cases
            for place, file in enumerate(case.files)
            if file.metrics is not None
        ]
        java = self.lake.java(self.table)
        append_files = java.newAppend()
        for found in java_files(self.lake.session, java, added) if added else ():
            append_files = append_files.appendFile(found)
        append_files.commit()

    def _arrow(self, rows: Sequence[Row]) -> pa.Table:
        # Arrow takes a UUID by its bytes.
        plain = [{k: v.bytes if isinstance(v, UUID) else v for k, v in row.items()} for row in rows]
        return pa.Table.from_pylist(plain, self.schema)

    def _by_spark(self, rows: Sequence[Row]) -> None:
        path = self.folder / f"{rows[0][KEY]}.parquet"
        texts = [str(row["u"]) if row["u"] else None for row in rows]
        arrow = self._arrow(rows)
        place = arrow.schema.get_field_index("u")
        pq.write_table(arrow.set_column(place, "u", pa.array(texts, pa.string())), path)
        frame = self.lake.session.read.parquet(str(path)).coalesce(1)
        frame.writeTo(spark_name(self.table)).append()

    def _by_pyiceberg(self, rows: Sequence[Row]) -> None:
        self._loaded().append(self._arrow(rows))

    def _written_alone(self, file: File, number: int, place: int) -> FileDetails:
        path = self.folder / f"{file.writer}-{number}-{place}.parquet"
        rows = self._arrow(file.rows)
        if file.writer == PYARROW:
            pq.write_table(rows, path, compression="zstd", store_decimal_as_integer=True)
        else:
            with duckdb.connect() as db:
                db.register("rows", rows)
                options = f"FORMAT parquet, COMPRESSION zstd, FIELD_IDS {_duckdb_ids(self.schema)}"
                db.execute(f"COPY (SELECT * FROM rows) TO '{path}' ({options})")
        size, count = path.stat().st_size, len(file.rows)
        return FileDetails(f"file:{path}", 0, (number,), size, count, file.metrics)

    def _loaded(self) -> Any:
        return self.catalog.load_table((*self.table.namespace, self.table.name))

    def asked(self, cases: Sequence[Case]) -> dict[str, list[set[int]]]:
        """What each reader finds, question by question."""
        return {
            SPARK: self._asked_of_spark(cases),
            PYICEBERG: self._asked_of_pyiceberg(cases),
            DUCKDB: self._asked_of_duckdb(cases),
        }

    def _asked_of_spark(self, cases: Sequence[Case]) -> list[set[int]]:
        name = spark_name(self.table)
        self.lake.sql(f"REFRESH TABLE {name}")
        parts = [
            f"SELECT {case.number} AS asked, {number} AS question, {KEY} FROM {name} "
            f"WHERE {PARTITION} = {case.number} AND {question.sql(SPARK)}"
            for case in cases
            for number, question in enumerate(case.questions)
        ]
        found: dict[tuple[int, int], set[int]] = {}
        for start in range(0, len(parts), TOGETHER):
            rows = self.lake.sql(" UNION ALL ".join(parts[start : start + TOGETHER])).collect()
            for row in rows:
                found.setdefault((row.asked, row.question), set()).add(row[KEY])
        return [found.get((case.number, n), set()) for case in cases for n in range(QUESTIONS)]

    def _asked_of_pyiceberg(self, cases: Sequence[Case]) -> list[set[int]]:
        loaded = self._loaded()
        found = []
        for case in cases:
            for question in case.questions:
                asked = And(EqualTo(PARTITION, case.number), question.iceberg())
                scan = loaded.scan(row_filter=asked)
                found.append(
                    _planned(scan) & case.answer(question)
                    if question.is_beyond_arrow
                    else set(scan.to_arrow()[KEY].to_pylist())
                )
        return found

    def _asked_of_duckdb(self, cases: Sequence[Case]) -> list[set[int]]:
        """It reads all live files, and knows nothing of manifests."""
        paths: dict[int, list[str]] = {}
        for file in self.lake.facts(self.table).data_files:
            path = file.path.removeprefix("file://").removeprefix("file:")
            paths.setdefault(file.partition[1][0], []).append(path)
        found = []
        with duckdb.connect() as db:
            for case in cases:
                for question in case.questions:
                    query = "SELECT id FROM read_parquet($1, hive_partitioning = false) WHERE "
                    query += question.sql(DUCKDB)
                    rows = db.execute(query, [paths[case.number]]).fetchall()
                    found.append({row[0] for row in rows})
        return found

    def dropped_whole(self, cases: Sequence[Case]) -> list[bool]:
        """Whether Iceberg, asked to delete what a question finds, would drop the file unread."""
        session, java = self.lake.session, self.lake.java(self.table)
        expressions = iceberg(session).expressions
        converter: Any = session._jvm.org.apache.spark.sql.execution.datasources
        converter = converter.SparkExpressionConverter
        files = {}
        tasks = java.newScan().includeColumnStats().planFiles().iterator()
        while tasks.hasNext():
            file = tasks.next().file()
            files[java.spec().partitionToPath(file.partition())] = file
        found = []
        for case in cases:
            for question in case.questions:
                resolved = converter.collectResolvedSparkExpression(
                    session._jsparkSession, spark_name(self.table), question.sql(SPARK)
                )
                asked = converter.convertToIcebergExpression(resolved)
                strict = expressions.StrictMetricsEvaluator(java.schema(), asked)
                found.append(strict.eval(files[f"{PARTITION}={case.number}"]))
        return found


def _duckdb_ids(schema: pa.Schema) -> str:
    def listed(fields: Any) -> str:
        return ", ".join(f"{field.name}: {number(field)}" for field in fields)

    def number(field: pa.Field) -> str:
        own = field.metadata[b"PARQUET:field_id"].decode()
        if not pa.types.is_struct(field.type):
            return own
        return "{__duckdb_field_id: " + own + ", " + listed(field.type) + "}"

    return "{" + listed(schema) + "}"


def _planned(scan: Any) -> set[int]:
    """The keys in all files that it would read, for questions that Arrow cannot answer."""
    paths = [task.file.file_path.removeprefix("file:") for task in scan.plan_files()]
    return {key for path in paths for key in pq.read_table(path, columns=[KEY])[KEY].to_pylist()}

"""Random lives of a table, as values that can be written down, read again and made smaller."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from hypothesis import strategies as st

#: Columns besides `id`, which every table has and nobody changes.
COLUMNS = {
    "kind": "STRING",
    "small": "INT",
    "single": "FLOAT",
    "x": "DOUBLE",
    "price": "DECIMAL(9, 2)",
    "large": "DECIMAL(20, 3)",
    "moment": "TIMESTAMP",
    "wall": "TIMESTAMP_NTZ",
    "day": "DATE",
    "raw": "BINARY",
    "ok": "BOOLEAN",
    "place": "STRUCT<a: INT, b: STRING, deep: STRUCT<y: FLOAT, n: BIGINT>>",
    "tags": "ARRAY<STRING>",
    "many": "ARRAY<STRUCT<a: INT, b: STRING>>",
    "named": "MAP<STRING, INT>",
    "pairs": "MAP<INT, STRUCT<v: DOUBLE>>",
}
#: How tables are partitioned, with the column that it takes.
PARTITIONINGS = {
    "": "",
    "kind": "kind",
    "small": "small",
    "ok": "ok",
    "x": "x",
    "bucket(3, id)": "",
    "truncate(1, kind)": "kind",
    "truncate(10, id)": "",
    "days(moment)": "moment",
    "months(day)": "day",
    "hours(wall)": "wall",
}
#: What happens to tables; what is drawn often stands more than once.
KINDS = (
    *("append", "append", "append", "append", "delete", "delete", "update", "merge"),
    *("overwrite", "delete by value", "evolve", "evolve", "evolve", "spec", "upgrade"),
    *("property", "property", "rewrite", "tidy", "roll back", "ref"),
)
#: How the table is cured in the end: engine, and the smallest row group that is kept.
CURES = {"rewrite": ("rewrite", 4 << 20), "keep": ("rewrite", 1), "copy": ("auto", 1)}


@dataclass(frozen=True)
class Step:
    """One thing that happens; all that it leaves open is drawn from its number."""

    kind: str
    number: int


@dataclass(frozen=True)
class History:
    """How a table is made, what happens to it, and how it is cured."""

    version: int
    columns: tuple[str, ...]
    by: str
    steps: tuple[Step, ...]
    cure: str = "rewrite"
    #: Files that each partition should come to; more than one cuts groups.
    outputs: int = 1

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The columns in their order, that of the partitioning among them."""
        wanted = {*self.columns, PARTITIONINGS[self.by]}
        return tuple(name for name in COLUMNS if name in wanted)

    def to_json(self) -> str:
        document = asdict(self) | {"steps": [[step.kind, step.number] for step in self.steps]}
        return json.dumps(document, sort_keys=True)


def from_json(text: str) -> History:
    document = json.loads(text)
    steps = tuple(Step(kind, number) for kind, number in document.pop("steps"))
    return History(**{**document, "columns": tuple(document["columns"])}, steps=steps)


def histories() -> st.SearchStrategy[History]:
    steps = st.builds(Step, st.sampled_from(KINDS), st.integers(0, 9_999))
    first = st.builds(Step, st.just("append"), st.integers(0, 9_999))
    return st.builds(
        History,
        version=st.sampled_from((2, 3, 1)),
        columns=st.lists(st.sampled_from(tuple(COLUMNS)), max_size=6, unique=True).map(tuple),
        by=st.sampled_from(("",) * 4 + tuple(PARTITIONINGS)),
        steps=st.tuples(first, st.lists(steps, min_size=1, max_size=9)).map(
            lambda drawn: (drawn[0], *drawn[1])
        ),
        cure=st.sampled_from(tuple(CURES)),
        outputs=st.sampled_from((1, 1, 1, 2)),
    )

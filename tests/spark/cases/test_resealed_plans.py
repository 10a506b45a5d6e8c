"""Saved plans that were changed and sealed again, applied to real tables: no row changes.

`PLANS_SEED` draws other changes, and `PLANS_CASES` more of them.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from neve.documents import canonical_text
from neve.model.errors import NeveError
from neve.model.outcome import Outcome, Status
from neve.model.policy import CompactionPolicy
from neve.model.table import TableRef
from neve.neve import Neve
from neve.service.plan_file import plan_document, read_plan_file

SEED = os.environ.get("PLANS_SEED", "42")
CASES = int(os.environ.get("PLANS_CASES", "8"))
COPY = CompactionPolicy(min_row_group_bytes=1, min_input_files=2)
Choices = random.Random
Document = dict[str, Any]


@dataclass(frozen=True)
class Services:
    """A table to compact, and what a plan of it might be made to name."""

    lake: Any
    table: TableRef
    other: TableRef
    #: Files that are no data files of the table: another's, one outside, one that was replaced.
    strangers: tuple[str, ...]


def local(path: str) -> Path:
    return Path(path.removeprefix("file://").removeprefix("file:"))


def make_world(lake: Any, folder: Path, version: int, *, deletes: bool) -> Services:
    modes = {"write.delete.mode": "merge-on-read", "write.update.mode": "merge-on-read"}
    table = lake.create(by="kind", version=version, properties=modes)
    other = lake.create(by="kind", version=version, name="other")
    lake.fill(table, start=1000, rows=6)
    replaced = sorted(lake.paths(table))[0]
    lake.sql(f"INSERT OVERWRITE {table} SELECT id, kind FROM {table} WHERE id % 3 = 0")
    lake.fill(table)
    lake.fill(other, start=500)
    if deletes:
        lake.sql(f"DELETE FROM {table} WHERE id % 10 = 3")
    outside = folder / "outside.parquet"
    shutil.copy(local(sorted(lake.paths(table))[0]), outside)
    strangers = (sorted(lake.paths(other))[0], f"file:{outside}", replaced, "file:/nowhere")
    return Services(lake, table, other, strangers)


def every_group(plan: Document) -> list[Document]:
    return [group for step in plan["steps"] for group in step["groups"]]


def a_group(choose: Choices, plan: Document) -> Document:
    return choose.choice(every_group(plan) or [{"files": []}])


def a_step(choose: Choices, plan: Document) -> Document:
    return choose.choice(plan["steps"] or [{}])


def a_file(choose: Choices, plan: Document) -> Document:
    return choose.choice(a_group(choose, plan)["files"] or [{}])


def routes(choose: Choices, plan: Document, services: Services) -> None:
    engine = choose.choice(("copy", "copy", "remote_copy", "spark", "auto"))
    for step in plan["steps"]:
        step["engine"] = engine
        for group in step["groups"]:
            group.update(engine=engine, delete_files=0)


def names_a_stranger(choose: Choices, plan: Document, services: Services) -> None:
    a_file(choose, plan)["path"] = choose.choice(services.strangers)


def spells_a_path_otherwise(choose: Choices, plan: Document, services: Services) -> None:
    file = a_file(choose, plan)
    path = file.get("path", "")
    folder, _, name = path.rpartition("/")
    parts = (f"{folder}/../{folder.rpartition('/')[2]}/{name}", f"{folder}//{name}")
    file["path"] = choose.choice((*parts, path.replace("file:/", "file:///"), path.upper()))


def lies_about_a_file(choose: Choices, plan: Document, services: Services) -> None:
    file, key = a_file(choose, plan), choose.choice(("size_bytes", "record_count"))
    file[key] = choose.choice((0, -1, 1, file.get(key, 0) + 1, 2**62))


def moves_files(choose: Choices, plan: Document, services: Services) -> None:
    one, two = a_group(choose, plan)["files"], a_group(choose, plan)["files"]
    if one:
        file = choose.choice(one)
        how = choose.choice(("move", "repeat", "drop"))
        if how != "repeat":
            one.remove(file)
        if how != "drop":
            two.append(file)


def repeats_a_group(choose: Choices, plan: Document, services: Services) -> None:
    step, group = a_step(choose, plan), copy.deepcopy(a_group(choose, plan))
    group["group_id"] = choose.choice((group.get("group_id", 0), 77, -1))
    step.setdefault("groups", []).append(group)


def speaks_of_another_partition(choose: Choices, plan: Document, services: Services) -> None:
    group = a_group(choose, plan)
    for value in group.get("partition_values", ()):
        value["value"] = choose.choice(("k0", "k1", "k9", None))
    group.update(partition="kind=k9", spec_id=choose.choice((0, 0, 1, -1)))


def filters(choose: Choices, plan: Document, services: Services) -> None:
    texts = ("true", "false", "not JSON", "", '{"type": "eq", "term": "kind", "value": "k9"}')
    a_step(choose, plan)["filter"] = choose.choice(texts)


def asks_where(choose: Choices, plan: Document, services: Services) -> None:
    texts = ("kind = 'k1'", "id > 5", "id; DROP TABLE x", "nothing = 1", "")
    plan["where"] = choose.choice(texts)


def says_when(choose: Choices, plan: Document, services: Services) -> None:
    snapshots = [snapshot.snapshot_id for snapshot in services.lake.facts(services.table).snapshots]
    plan["snapshot_id"] = choose.choice((*snapshots, None, 0, -1, 2**62))
    plan["sequence_number"] = choose.choice((plan.get("sequence_number", 0), 0, -1, 2**62))


def is_of_another_table(choose: Choices, plan: Document, services: Services) -> None:
    other = services.lake.plan(services.other, policy=COPY)
    changed = {"table": plan_document([other])["plans"][0]["table"], "table_uuid": other.table_uuid}
    for key in choose.choice((("table",), ("table_uuid",), ("table", "table_uuid"))):
        plan[key] = changed[key]


def sizes(choose: Choices, plan: Document, services: Services) -> None:
    step = a_step(choose, plan)
    value = choose.choice((-1, 0, 1, 100, 2**40, 2**62))
    places = ((step, "target_file_size_bytes"), (step, "min_file_size_bytes"))
    places += ((step, "min_input_files"), (plan, "target_file_size_bytes"))
    places += ((plan, "min_row_group_bytes"), (plan, "small_file_bytes"))
    where, key = choose.choice(places)
    where[key] = value


def counts_outputs(choose: Choices, plan: Document, services: Services) -> None:
    a_group(choose, plan)["expected_output_files"] = choose.choice((0, 1, 2, 50, 10**6))


def is_undone(choose: Choices, plan: Document, services: Services) -> None:
    plan["undo_window_seconds"] = choose.choice((-1, 0, 1, 10**9, 10**30))


def is_undone_at_once(choose: Choices, plan: Document, services: Services) -> None:
    """Harmless: the window is the configuration's to say."""
    plan["undo_window_seconds"] = 0


def has_other_ids(choose: Choices, plan: Document, services: Services) -> None:
    plan[choose.choice(("spec_id", "schema_id"))] = choose.choice((-1, 1, 2, 10**6))


def orders(choose: Choices, plan: Document, services: Services) -> None:
    strategy = choose.choice(("sort", "zorder", "binpack"))
    columns = choose.choice((["id"], ["kind", "id"], [], ["id; --"], ["nothing"]))
    a_step(choose, plan).update(strategy=strategy, sort_columns=columns)


CHANGES: tuple[Callable[[Choices, Document, Services], None], ...] = (
    routes,
    names_a_stranger,
    spells_a_path_otherwise,
    lies_about_a_file,
    moves_files,
    repeats_a_group,
    speaks_of_another_partition,
    filters,
    asks_where,
    says_when,
    is_of_another_table,
    sizes,
    counts_outputs,
    is_undone,
    has_other_ids,
    orders,
)


#: The first ones are told what must come of them.
ALWAYS = {0: (is_undone_at_once,), 1: (names_a_stranger,)}


def reseal(plan: Document, path: Path) -> None:
    """As whoever can edit the file could."""
    body = {"format_version": "1.1", "plans": [plan]}
    digest = hashlib.sha256(canonical_text(body).encode()).hexdigest()
    path.write_text(json.dumps({**body, "digest": f"sha256:{digest}"}))


def by_pyiceberg(services: Services, table: TableRef) -> Counter[tuple[Any, ...]]:
    rows = services.lake.app.catalogs.load(table).scan().to_arrow().to_pylist()
    return Counter((row["id"], row["kind"]) for row in rows)


def by_duckdb(services: Services, table: TableRef) -> Counter[tuple[Any, ...]] | None:
    """It reads the files alone, so that deletes are beyond it."""
    facts = services.lake.facts(table)
    if facts.delete_files:
        return None
    paths = [str(local(file.path)) for file in facts.data_files]
    with duckdb.connect() as db:
        query = "SELECT id, kind FROM read_parquet($1, hive_partitioning = false)"
        return Counter(db.execute(query, [paths]).fetchall())


def seen(services: Services, version: int) -> list[Any]:
    """Both tables, by every reader; on format 3 with the ids of the rows."""
    found: list[Any] = []
    for table in (services.table, services.other):
        found.append(services.lake.lineage(table) if version == 3 else services.lake.rows(table))
        found.append(by_pyiceberg(services, table))
        # What a writer deleted is gone for DuckDB once its files are rewritten.
        assert by_duckdb(services, table) in (None, found[-1])
    return found


def apply(services: Services, path: Path) -> Outcome | NeveError:
    """As `neve apply` does it; any other error is a defect."""
    try:
        (plan,) = read_plan_file(path)
        return Neve(services.lake.app).apply(plan)
    except NeveError as refusal:
        return refusal


def is_run(done: Outcome | NeveError, told: str) -> bool:
    if isinstance(done, NeveError):
        assert done.message.endswith("."), (told, done.message)
        assert done.next_step, (told, done.message)
        return False
    assert done.status in (Status.SUCCEEDED, Status.NOTHING_TO_DO), (told, done.reason)
    return done.status is Status.SUCCEEDED


@pytest.mark.parametrize(
    ("version", "deletes"), [(2, False), (2, True), (3, True)], ids=["copied", "deletes", "v3"]
)
def test_a_plan_that_was_sealed_again_changes_no_row(lake, tmp_path, version, deletes):
    services = make_world(lake, tmp_path, version, deletes=deletes)
    ran = []
    for number in range(CASES):
        choose = Choices(f"{SEED}:{version}:{deletes}:{number}")
        plan = plan_document([lake.plan(services.table, policy=COPY)])["plans"][0]
        assert plan["steps"]
        if number not in ALWAYS and choose.random() < 0.25:
            lake.sql(f"DELETE FROM {services.table} WHERE id % 30 = {number}")
        changes = ALWAYS.get(number) or choose.sample(CHANGES, choose.choice((1, 1, 2, 3)))
        for change in changes:
            change(choose, plan, services)
        told = f"{SEED} {number}: {', '.join(change.__name__ for change in changes)}"
        before, refs = seen(services, version), lake.facts(services.table).refs
        reseal(plan, tmp_path / "plan.json")

        ran.append(is_run(apply(services, tmp_path / "plan.json"), told))

        assert seen(services, version) == before, told
        if ran[-1]:
            # Something to do for the next plan.
            lake.fill(services.table, start=2000 + 100 * number, rows=8)
        else:
            assert lake.facts(services.table).refs == refs, told
    assert ran[:2] == [True, False]

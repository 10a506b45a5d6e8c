"""Commits whose answer does not tell what happened: nothing is lost, whatever the catalog says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession
from tests.spark.cases.scripted_catalog import Act, ScriptedCatalog, scripted_catalog
from tests.spark.conftest import ONE_FILE_PER_TASK, TEST_SIZED

from neve.app import App, build_app
from neve.model.errors import TableUnreadable
from neve.model.facts import JOB_ID_PROPERTY
from neve.model.metadata_change import UNDO_TAG_PREFIX
from neve.model.outcome import Outcome, Status
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.model.table import TableRef
from neve.planning.operations.rewrite_manifests import ManifestThresholds
from neve.service.operations.rewrite_manifests import RewriteManifestsOperation
from neve.settings import Settings, SparkSettings, StateSettings
from neve.spark.conf import catalog_conf
from neve.spark.engine import SparkEngine
from neve.spark.gate.server import CommitGate
from neve.spark.gate.session import through_the_gate
from neve.spark.gate.upstream import Upstream
from neve.spark.tables import io_properties, spark_name
from neve.testing.lake import SilentReporter
from neve.testing.operations import apply_plan, run_operation

pytestmark = pytest.mark.promise(6)

GATED, BARE = "gated", "bare"
ROWS = 30
PROPERTIES = {**ONE_FILE_PER_TASK, "commit.manifest-merge.enabled": "false"}
_tables = count(1)


def nobody() -> None:
    pass


#: For the whole session: Spark keeps the address that it was told first.
@pytest.fixture(scope="session")
def catalog(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ScriptedCatalog]:
    """The scripted catalog under two names: one behind the gate, and one that goes around it."""
    with scripted_catalog(tmp_path_factory.mktemp("scripted")) as made:
        properties = {"type": "rest", "uri": made.scripted}
        gated = through_the_gate(catalog_conf(GATED, properties), [GATED], is_local=True)
        for key, value in {**gated, **catalog_conf(BARE, properties)}.items():
            spark.conf.set(key, value)
        yield made


@dataclass(frozen=True)
class House:
    """One table behind the scripted catalog, with an application that maintains it."""

    spark: SparkSession
    app: App
    catalog: ScriptedCatalog
    table: TableRef

    def other_writer(self) -> None:
        """Two rows more, by a client that is told the truth."""
        rows = pa.table({"id": pa.array([-1, -2], pa.int64()), "kind": ["other", "other"]})
        with_catalog = load_catalog("honest", type="rest", uri=self.catalog.honest)
        with_catalog.load_table((*self.table.namespace, self.table.name)).append(rows)

    def metadata(self) -> Any:
        return self.catalog.tables[(self.table.namespace[0], self.table.name)]

    def snapshot_ids(self) -> set[int]:
        return {snapshot.snapshot_id for snapshot in self.metadata().snapshots}

    def on_main(self) -> set[int]:
        metadata, found = self.metadata(), set()
        current = metadata.current_snapshot_id
        while current is not None and (snapshot := metadata.snapshot_by_id(current)) is not None:
            found.add(current)
            current = snapshot.parent_snapshot_id
        return found

    def rows(self) -> list[int]:
        """The ids of all rows, on which Spark and pyiceberg must agree."""
        name = spark_name(TableRef(BARE, self.table.namespace, self.table.name))
        seen = sorted(row.id for row in self.spark.sql(f"SELECT id FROM {name}").collect())
        honest = load_catalog("honest", type="rest", uri=self.catalog.honest)
        scan = honest.load_table((*self.table.namespace, self.table.name)).scan()
        assert sorted(scan.to_arrow()["id"].to_pylist()) == seen
        return seen

    def files(self) -> set[Path]:
        return {
            path for path in Path(_local(self.metadata().location)).rglob("*") if path.is_file()
        }

    def assert_sound(self, *, others: int) -> None:
        """Every row is there, of ours and of others, and every commit of theirs is on main."""
        assert self.rows() == sorted([*range(ROWS), *[-1, -2] * others])
        assert self.foreign() <= self.on_main()

    def foreign(self) -> set[int]:
        """Snapshots that Neve did not make."""
        snapshots = self.metadata().snapshots
        return {
            s.snapshot_id
            for s in snapshots
            if JOB_ID_PROPERTY not in s.summary.additional_properties
        }


def _local(location: str) -> str:
    return location.removeprefix("file://").removeprefix("file:")


@pytest.fixture
def make_house(
    spark: SparkSession, catalog: ScriptedCatalog, tmp_path: Path
) -> Iterator[Callable[[str], House]]:
    def make(name: str) -> House:
        settings = Settings(
            catalogs={name: {"type": "rest", "uri": catalog.honest}},
            spark=SparkSettings(master="local[2]", conf=TEST_SIZED),
            state=StateSettings(url=f"sqlite:///{tmp_path / 'state.db'}"),
        )
        app = build_app(settings, SilentReporter())
        app.engine.use(SparkEngine(lambda: spark))
        table = TableRef(name, ("n",), f"t{next(_tables)}")
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in PROPERTIES.items())
        spark.sql(
            f"CREATE TABLE {spark_name(table)} (id BIGINT, kind STRING) USING iceberg "
            f"TBLPROPERTIES ({properties})"
        )
        for start in range(0, ROWS, 10):
            frame = spark.range(start, start + 10, 1, 1).selectExpr("id", "'ours' AS kind")
            frame.writeTo(spark_name(table)).append()
        catalog.commits.clear()
        return House(spark, app, catalog, table)

    yield make
    assert catalog.script == [], "the whole script was played"
    catalog.script.clear()


@pytest.fixture
def house(make_house: Callable[[str], House]) -> House:
    return make_house(GATED)


def compact(house: House, policy: CompactionPolicy) -> Outcome:
    maintenance = house.app.maintenance
    plan = maintenance.plan(house.table, RewriteDataFilesArguments(), policy=policy)
    return apply_plan(maintenance, plan, log=False)


def tidy_manifests(house: House) -> Outcome:
    operation = RewriteManifestsOperation(thresholds=ManifestThresholds(min_manifests=3))
    return run_operation(house.app.maintenance, house.table, operation, log=False)


#: Commits of Neve's own, and of the actions of Iceberg that it starts.
WORK: dict[str, Callable[[House], Outcome]] = {
    "copy": partial(compact, policy=CompactionPolicy(min_row_group_bytes=1)),
    "rewrite_data_files": partial(compact, policy=CompactionPolicy()),
    "rewrite_manifests": tidy_manifests,
}
#: Answers to a commit: status, Retry-After, and the code in the body.
ANSWERS: dict[str, tuple[int | None, str | None, int | None]] = {
    "503 with Retry-After": (503, "1", None),
    "429": (429, None, None),
    "503": (503, None, None),
    "401": (401, None, None),
    "403": (403, None, None),
    "404": (404, None, None),
    "409": (409, None, None),
    "400": (400, None, None),
    "500 that says 404": (500, None, 404),
    "a broken connection": (None, None, None),
}


@pytest.mark.conformance("a commit whose end is unknown", "an unknown commit, landed or not")
@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_applied_commit_and_what_follows_it_stay(house, work, answer):
    status, retry_after, code = ANSWERS[answer]
    script = Act(status, retry_after=retry_after, code=code, meanwhile=house.other_writer)
    house.catalog.script.append(script)

    outcome = WORK[work](house)

    assert outcome.status is Status.SUCCEEDED
    house.assert_sound(others=1)
    assert len(house.catalog.commits) == 1


@pytest.mark.conformance("a commit that fails", "an unknown commit, landed or not")
@pytest.mark.parametrize("answer", ["503", "401", "403", "404", "409", "a broken connection"])
def test_a_commit_that_was_not_applied_leaves_the_table_and_all_files_alone(house, answer):
    status, retry_after, code = ANSWERS[answer]
    house.catalog.script.append(Act(status, applies=False, retry_after=retry_after, code=code))
    before, written = house.metadata().current_snapshot_id, house.files()

    outcome = WORK["rewrite_data_files"](house)

    assert outcome.status is Status.UNKNOWN
    assert (house.metadata().current_snapshot_id, len(house.catalog.commits)) == (before, 1)
    # What was written for the commit is kept as well: it might still come.
    assert house.files() > written
    house.assert_sound(others=0)


@pytest.mark.parametrize("answer", ["503 with Retry-After", "429"])
@pytest.mark.parametrize("others", [0, 1])
def test_a_busy_catalog_gets_the_commit_once_more(house, answer, others):
    status, retry_after, _ = ANSWERS[answer]
    meanwhile = house.other_writer if others else nobody
    house.catalog.script.append(
        Act(status, applies=False, retry_after=retry_after, meanwhile=meanwhile)
    )

    outcome = WORK["copy"](house)

    assert outcome.status is Status.SUCCEEDED
    house.assert_sound(others=others)


def test_a_true_conflict_is_iceberg_s_to_solve(house):
    house.catalog.script.append(Act(409, applies=False, meanwhile=house.other_writer))

    outcome = WORK["copy"](house)

    assert (outcome.status, len(house.catalog.commits)) == (Status.SUCCEEDED, 2)
    house.assert_sound(others=1)


@pytest.mark.parametrize(("name", "lost"), [(GATED, 0), (BARE, 1)])
def test_only_around_the_gate_an_append_pushes_another_writer_s_off_main(make_house, name, lost):
    """As the maintenance log's rows are written: sent again, it moves main back to itself."""
    house = make_house(name)
    house.catalog.script.append(Act(503, retry_after="1", meanwhile=house.other_writer))

    frame = house.spark.range(ROWS, ROWS + 1).selectExpr("id", "'late' AS kind")
    frame.writeTo(spark_name(house.table)).append()

    assert len(house.foreign() - house.on_main()) == lost
    assert house.rows() == sorted([*range(ROWS + 1), *[-1, -2] * (1 - lost)])


@pytest.mark.promise(5)
@pytest.mark.parametrize("work", ["copy", "rewrite_data_files"])
@pytest.mark.parametrize("answer", ["503 with Retry-After", "400", "403", "404", "409"])
def test_a_rewrite_deletes_no_file_of_its_commit_around_the_gate_either(make_house, work, answer):
    house = make_house(BARE)
    status, retry_after, _ = ANSWERS[answer]
    house.catalog.script.append(Act(status, retry_after=retry_after, meanwhile=house.other_writer))

    outcome = WORK[work](house)

    house.assert_sound(others=1)
    (ours,) = house.snapshot_ids() - house.foreign()
    assert ours in house.on_main()
    kept = house.metadata().refs[UNDO_TAG_PREFIX + outcome.job_id]
    assert kept.snapshot_id == house.metadata().snapshot_by_id(ours).parent_snapshot_id


def test_around_the_gate_files_of_a_commit_by_an_action_are_deleted(make_house):
    house = make_house(BARE)
    house.catalog.script.append(Act(403, meanwhile=house.other_writer))

    with pytest.raises(TableUnreadable):
        WORK["rewrite_manifests"](house)

    (ours,) = house.snapshot_ids() - house.foreign()
    assert not Path(_local(house.metadata().snapshot_by_id(ours).manifest_list)).exists()


def test_neves_own_commit_deletes_no_file_even_around_the_gate(make_house):
    house = make_house(BARE)
    house.catalog.script.append(Act(403, meanwhile=house.other_writer))

    WORK["rewrite_data_files"](house)

    house.assert_sound(others=1)


def test_files_are_reached_by_the_real_address_where_executors_are_elsewhere(house):
    gate = CommitGate(has_distant_executors=True)
    afar = {"type": "rest", "uri": gate.open(Upstream(house.catalog.scripted, 10.0, 60.0))}
    for key, value in catalog_conf("afar", afar).items():
        house.spark.conf.set(key, value)
    table = TableRef("afar", house.table.namespace, house.table.name)
    house.catalog.script.append(Act(403, meanwhile=house.other_writer))

    house.spark.range(ROWS, ROWS + 1).selectExpr("id", "'late' AS kind").writeTo(
        spark_name(table)
    ).append()

    assert io_properties(house.spark, table)["uri"] == house.catalog.scripted
    assert house.rows() == [-2, -1, *range(ROWS + 1)]
    gate.close()

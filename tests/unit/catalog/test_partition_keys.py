"""Partition keys are equal exactly where the bytes of their values are."""

from __future__ import annotations

import json
import math
import struct
from collections import Counter
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from neve.catalog.details import data_locations, read_details
from neve.catalog.survey import partition_values
from neve.documents import from_document, to_document
from neve.model.exact import ExactFloat
from neve.model.facts import DeleteKind
from neve.model.plan import CompactionPlan
from neve.model.policies import RewriteDataFilesArguments
from neve.model.policy import CompactionPolicy
from neve.planning.cost import CostModel, Rates
from neve.planning.deletes import DeleteIndex, dangling_deletes
from neve.planning.expressions import from_partitions, to_json
from neve.planning.health import assess
from neve.planning.partition_values import partition_values as json_values
from neve.planning.planner import make_plan
from neve.planning.proof import find_change, prove
from neve.testing.facts import data_file, delete_file, table_facts
from neve.testing.local_lake import FileEntry, LocalLake, Manifest

pytestmark = pytest.mark.promise(2)

ODD_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8_0000_0000_0001))[0]
LONGS = st.integers(-2, 2) | st.integers(-(2**62), 2**62)
FLOATS = st.sampled_from([-0.0, 0.0, math.nan, -math.nan, ODD_NAN, math.inf, -math.inf, 1.0])
VALUES = {
    BooleanType(): st.booleans(),
    IntegerType(): st.integers(-2, 2),
    LongType(): LONGS,
    FloatType(): st.sampled_from([-0.0, 0.0, math.nan, -math.nan, math.inf, 1.5])
    | st.floats(width=32),
    DoubleType(): FLOATS | st.floats(),
    DecimalType(9, 2): st.integers(-(10**8), 10**8).map(lambda n: Decimal(n).scaleb(-2)),
    StringType(): st.sampled_from(["é", "e\u0301", "", "null"]) | st.text(max_size=3),
    BinaryType(): st.binary(max_size=2),
    FixedType(2): st.binary(min_size=2, max_size=2),
    UUIDType(): st.integers(0, 2**128 - 1).map(lambda n: UUID(int=n)),
    DateType(): st.integers(-2, 2),
    TimeType(): st.integers(0, 5),
    TimestampType(): LONGS,
    TimestamptzType(): LONGS,
}


@pytest.mark.parametrize("of", VALUES, ids=str)
@given(data=st.data())
def test_keys_are_equal_exactly_where_bytes_are(of, data):
    one, other = (data.draw(VALUES[of] | st.none()) for _ in range(2))
    same = one is other if None in (one, other) else to_bytes(of, one) == to_bytes(of, other)
    keys = [(0, partition_values(Record(value))) for value in (one, other)]

    assert (keys[0] == keys[1]) is same
    assert len(set(keys)) == (1 if same else 2)
    if same:
        assert hash(keys[0]) == hash(keys[1])


@given(st.floats(), st.floats())
def test_an_exact_float_is_otherwise_a_float(one, other):
    value = ExactFloat(one)

    assert (str(value), json.dumps(value)) == (str(one), json.dumps(one))
    assert (value < other) is (one < other)
    # Beside a plain float in a dict it is found by the same bits.
    if not math.isnan(other):
        assert (other in {value}) is (struct.pack("<d", one) == struct.pack("<d", other))


SPECIAL = (-0.0, 0.0, math.nan, ODD_NAN, math.inf, -math.inf, None, 1.5)
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "d", DoubleType(), required=False),
)
SPEC = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "d"))


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """One for all, because they only look."""
    return LocalLake(tmp_path_factory.mktemp("keys") / "lake")


@pytest.fixture(scope="module")
def table(lake):
    """A table with three small files for each special value, in three manifests."""
    made = lake.create("db.events", SCHEMA, SPEC)
    for batch in range(3):
        entries = [
            FileEntry(f"file:///t/{batch}-{number}.parquet", (value,))
            for number, value in enumerate(SPECIAL)
        ]
        lake.commit(made, Manifest(entries))
    return made


def planned(facts):
    policy = CompactionPolicy(min_row_group_bytes=1)
    return make_plan(
        facts,
        assess(facts, policy, facts.surveyed_at),
        policy,
        RewriteDataFilesArguments(),
        cost_model=CostModel(),
        rates=Rates(),
        now=facts.surveyed_at,
    )


def test_a_survey_keeps_special_values_apart(table, survey):
    facts = survey()

    files = Counter(file.partition for file in facts.data_files)
    assert files == {(0, (ExactFloat(v) if v is not None else None,)): 3 for v in SPECIAL}
    assert len(files) == len(SPECIAL)


def test_health_and_plan_count_special_values_apart(table, survey):
    facts = survey()
    plan = planned(facts)

    assert len(assess(facts, CompactionPolicy(), facts.surveyed_at).health.partitions) == len(
        SPECIAL
    )
    assert len(plan.groups) == len(SPECIAL)
    of_path = {file.path: file.partition for file in facts.data_files}
    for group in plan.groups:
        assert len({of_path[file.path] for file in group.files}) == 1
    engines = Counter(group.engine for group in plan.groups)
    assert engines["spark"] == 1
    (odd,) = (group for group in plan.groups if group.engine == "spark")
    assert "NaN of unusual bits" in odd.engine_reason


def test_a_plan_document_keeps_special_values(table, survey):
    plan = planned(survey())

    read = from_document(CompactionPlan, to_document(plan))

    # A NaN of unusual bits is read as the usual one; its group names its files, and is not copied.
    pairs = zip(read.groups, plan.groups, strict=True)
    differing = [group for found, group in pairs if found != group]
    assert [group.engine for group in differing] == ["spark"]
    assert len(read.groups) == len(SPECIAL)


def test_details_carry_the_bytes_of_each_value(table, survey):
    paths = {f"file:///t/0-{number}.parquet": value for number, value in enumerate(SPECIAL)}

    found = read_details(table, survey().snapshot_id, paths)

    for details in found:
        (value,) = details.partition
        expected = paths[details.path]
        assert (value is None) == (expected is None)
        assert value is None or struct.pack("<d", value) == struct.pack("<d", expected)
    assert len(found) == len(paths)


def test_zeros_have_locations_of_their_own(table):
    keys = [(0, partition_values(Record(value))) for value in (-0.0, 0.0)]

    minus, zero = data_locations(table, [(key, ["f"]) for key in keys])

    assert (minus[0].split("/")[-2], zero[0].split("/")[-2]) == ("d=-0.0", "d=0.0")


def key(value):
    return (0, partition_values(Record(value)))


@pytest.mark.parametrize(
    ("of_delete", "of_file", "applies"),
    [
        (-0.0, 0.0, False),
        (0.0, 0.0, True),
        (-0.0, -0.0, True),
        (math.nan, math.nan, True),
        (math.nan, ODD_NAN, True),
        (math.inf, -math.inf, False),
        (None, math.nan, False),
    ],
)
@pytest.mark.parametrize("kind", [DeleteKind.POSITION, DeleteKind.EQUALITY])
def test_deletes_match_as_iceberg_compares(table, survey, kind, of_delete, of_file, applies):
    """By Double.compare: zeros differ, and every NaN is the same."""
    specs = survey().specs
    file = data_file("a", 1, partition=key(of_file), data_sequence_number=1)
    delete = delete_file("d", kind, partition=key(of_delete), data_sequence_number=2)

    assert bool(DeleteIndex([delete], dict(specs)).applying_to(file).delete_files) is applies
    assert (dangling_deletes([delete], [file], specs) == []) is applies


def test_a_proof_sees_zeros_that_were_mixed(table, survey):
    specs = survey().specs
    minus = data_file("a", 1, record_count=3, partition=key(-0.0))
    zero = data_file("b", 1, record_count=4, partition=key(0.0))
    mixed = data_file("c", 2, record_count=7, partition=key(0.0))

    before, after = (table_facts(files, specs=specs) for files in ([minus, zero], [mixed]))
    proof = prove(find_change(before, after), {})

    assert not proof.holds
    assert "Partition d=-0.0 held 3 rows" in proof.explain_failure()


def test_a_proof_lets_iceberg_make_one_partition_of_nans(table, survey):
    specs = survey().specs
    odd = data_file("a", 1, record_count=3, partition=key(ODD_NAN))
    nan = data_file("b", 1, record_count=4, partition=key(math.nan))
    joined = data_file("c", 2, record_count=7, partition=key(math.nan))

    before, after = (table_facts(files, specs=specs) for files in ([odd, nan], [joined]))
    proof = prove(find_change(before, after), {})

    assert proof.holds


def test_filters_name_special_values_in_json_that_every_reader_takes(table, survey):
    facts = survey()
    keys = [key(value) for value in (-0.0, 0.0, math.inf, -math.inf, None, math.nan)]

    text = to_json(from_partitions(json_values(facts, each) for each in keys))

    def refuse(word):
        raise AssertionError(word)

    json.loads(text, parse_constant=refuse)
    assert '"values":[-0.0,0.0,1e999,-1e999]' in text
    assert '{"type":"is-nan","term":"d"}' in text
    assert '{"type":"is-null","term":"d"}' in text

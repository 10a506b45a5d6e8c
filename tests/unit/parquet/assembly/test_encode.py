"""What Arrow says of the values that it encodes, and what of that may be believed."""

from __future__ import annotations

import pyarrow as pa
import pytest

from neve.parquet.assembly.columns import columns_of
from neve.parquet.assembly.encode import EncodeOptions, Encoding, encode_runs
from neve.parquet.assembly.pieces import single
from neve.parquet.assembly.source import load_assembly_source
from neve.storage.readers import MemoryReader

from .conftest import number, write_file

NAN = float("nan")
NESTED = pa.struct([pa.field("x", pa.float64())])
LISTED = pa.list_(pa.field("element", pa.float32()))
MAPPED = pa.map_(pa.field("key", pa.string(), False), pa.field("value", pa.float64()))


@pytest.mark.promise(1)
@pytest.mark.parametrize(
    ("of", "plain", "odd"),
    [
        (pa.float64(), [1.0, None], [1.0, NAN]),
        (pa.float32(), [1.0, float("inf")], [NAN, None]),
        (NESTED, [{"x": 1.0}], [{"x": 1.0}, {"x": NAN}]),
        (LISTED, [[1.0], [2.0]], [[1.0, NAN], []]),
        (MAPPED, [[("a", 1.0)]], [[("a", NAN), ("b", 2.0)]]),
    ],
    ids=str,
)
def test_values_with_nan_have_no_bounds(of, plain, odd):
    """Some readers take what lies above all bounds for absent, and NaN with it."""
    schema = number(pa.schema([pa.field("id", pa.int64()), pa.field("c", of)]))
    tables = [
        pa.table([pa.array(range(len(values)), pa.int64()), pa.array(values, of)], schema=schema)
        for values in (plain, odd)
    ]
    source = load_assembly_source(MemoryReader(write_file(tables[0])))
    leaves = [
        Encoding(column, dictionary=False, codec=None) for column in columns_of(source.schema.raw)
    ]

    runs = encode_runs(tables, leaves, EncodeOptions())

    for run, has_bounds in zip(runs, (True, False), strict=True):
        built = [single(piece, leaf.column, 4) for piece, leaf in zip(run, leaves, strict=True)]
        assert built[0].statistics.lower is not None
        assert (built[-1].statistics.lower is not None) == has_bounds
        assert (built[-1].column_index is not None) == has_bounds
        assert built[-1].statistics.nulls is not None


@pytest.mark.promise(1)
def test_lists_of_uuids_that_are_all_null_are_encoded():
    """Arrow does not flatten them."""
    of = pa.list_(pa.field("element", pa.list_(pa.field("element", pa.uuid()))))
    schema = number(pa.schema([pa.field("c", of)]))
    table = pa.table([pa.nulls(2, schema.field("c").type)], schema=schema)
    source = load_assembly_source(MemoryReader(write_file(table)))
    leaves = [
        Encoding(each, dictionary=False, codec=None) for each in columns_of(source.schema.raw)
    ]

    ((piece,),) = encode_runs([table], leaves, EncodeOptions())

    assert single(piece, leaves[0].column, 4).statistics.nulls == 2

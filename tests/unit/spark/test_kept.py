"""A chunk of a new file is what its footer says, and what it was made of."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.parquet.assembly.source import load_assembly_source
from neve.spark.rewrite.rows.kept import _is_made_of
from neve.storage.readers import MemoryReader


def chunk(*, dictionary, before=0):
    """A chunk of a file, which lies behind others."""
    sink = pa.BufferOutputStream()
    table = pa.table({"pad": ["x" * before], "a": ["one"]})
    pq.write_table(table, sink, use_dictionary=["a"] if dictionary else False)
    source = load_assembly_source(MemoryReader(sink.getvalue().to_pybytes(), "memory"))
    return source.groups[0].chunks[1]


@pytest.mark.parametrize("dictionary", [False, True])
def test_a_chunk_may_lie_elsewhere_and_is_otherwise_the_same(dictionary):
    here, there = (chunk(dictionary=dictionary, before=before) for before in (0, 99))

    assert here.start != there.start
    assert _is_made_of(here, [there])


@pytest.mark.parametrize(
    "wrong",
    [
        {"codec": 0},
        {"values": 2},
        {"encodings": (0, 3, 5)},
        {"encodings": (0,)},
        {"data_offset": 4},
        {"dictionary_offset": None},
        {"dictionary_offset": 5},
    ],
    ids=str,
)
def test_a_footer_that_describes_other_pages_is_found(wrong):
    made = chunk(dictionary=True)

    assert _is_made_of(made, [made])
    assert not _is_made_of(replace(made, **wrong), [made])


def test_pages_of_several_chunks_have_no_dictionary():
    plain, with_one = chunk(dictionary=False), chunk(dictionary=True)

    assert _is_made_of(replace(plain, values=2), [plain, plain])
    assert not _is_made_of(plain, [plain, plain])
    assert not _is_made_of(replace(with_one, values=2), [with_one, with_one])

"""Partition values that are decimals, in manifests of which other fields are wanted."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import DecimalType, NestedField, StringType

from neve.catalog.whole_avro import ProjectedAvroFile

PATH = NestedField(2, "path", StringType(), required=True)


@pytest.mark.parametrize("precision", [1, 9, 18, 38])
def test_a_decimal_is_skipped_by_its_own_length(tmp_path, precision):
    """Its bytes were taken for a length, by which the compiled decoder left its memory."""
    value = NestedField(1, "value", DecimalType(precision, 0), required=True)
    at, written = str(tmp_path / "manifest.avro"), Schema(value, PATH)
    io = PyArrowFileIO()
    with AvroOutputFile[Record](io.new_output(at), written, "manifest_entry") as target:
        target.write_block([Record(Decimal(-7), "first"), Record(Decimal(9), "second")])

    with ProjectedAvroFile(io.new_input(at), Schema(PATH)) as found:
        assert [record[0] for record in found] == ["first", "second"]

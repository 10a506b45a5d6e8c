"""Which files Iceberg's reader is known to read rightly, by what their footers say."""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.errors import ParquetError
from neve.parquet.footer import read_footer
from neve.parquet.kinds import leaf_kinds
from neve.spark.rewrite.misread import _look, columns_of, why_misread
from neve.storage.access import Storage
from neve.storage.readers import LocalReader


def schema_of(*fields):
    document = [{"id": id_, "name": name, "type": of} for id_, name, of in fields]
    return json.dumps({"type": "struct", "fields": document})


def written(path, kind, ids=True, **options):
    field = pa.field("v", kind, metadata={"PARQUET:field_id": "1"} if ids else None)
    pq.write_table(pa.table([pa.nulls(2, kind)], schema=pa.schema([field])), path, **options)
    return path


def schema_in(path):
    with LocalReader(str(path)) as reader:
        return read_footer(reader).schema


def kind_of(path, kind, **options):
    (leaf,) = leaf_kinds(schema_in(written(path / "f.parquet", kind, **options)))
    return leaf.kind


KINDS = {
    "boolean": pa.bool_(),
    "int8": pa.int8(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "float16": pa.float16(),
    "date": pa.date32(),
    "time[ms]": pa.time32("ms"),
    "time[us]": pa.time64("us"),
    "timestamp[ms]": pa.timestamp("ms"),
    "timestamp[us]": pa.timestamp("us", tz="UTC"),
    "timestamp[ns]": pa.timestamp("ns"),
    "decimal(9, 2)": pa.decimal128(9, 2),
    "string": pa.string(),
    "binary": pa.binary(),
    "fixed[5]": pa.binary(5),
    "uuid": pa.uuid(),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_value_has_a_name(tmp_path, name):
    assert kind_of(tmp_path, KINDS[name]) == name


def test_annotations_of_the_older_way_say_the_same(tmp_path):
    old = {"version": "1.0"}
    assert kind_of(tmp_path, pa.timestamp("ms"), **old) == "timestamp[ms]"
    assert kind_of(tmp_path, pa.uint16(), **old) == "uint16"
    int96 = {"use_deprecated_int96_timestamps": True}
    assert kind_of(tmp_path, pa.timestamp("ns"), **int96) == "int96"


READ = [
    ("int", "int8"),
    ("int", "uint16"),
    ("long", "int32"),
    ("double", "float"),
    ("date", "int32"),
    ("timestamp", "timestamp[us]"),
    ("timestamptz", "timestamp[us]"),
    ("timestamp_ns", "timestamp[ns]"),
    ("decimal(9, 2)", "decimal(9, 2)"),
    ("decimal(20, 2)", "decimal(9, 2)"),
    ("string", "binary"),
    ("binary", "fixed[5]"),
    ("fixed[5]", "fixed[5]"),
    ("uuid", "uuid"),
    ("variant", "binary"),
]
NOT_READ = [
    ("int", "uint32"),
    ("int", "int64"),
    ("long", "uint32"),
    ("long", "uint64"),
    ("long", "timestamp[us]"),
    ("long", "time[us]"),
    ("float", "double"),
    ("double", "int32"),
    ("date", "timestamp[us]"),
    ("time", "time[ms]"),
    ("timestamp", "timestamp[ms]"),
    ("timestamp", "timestamp[ns]"),
    ("timestamp", "int64"),
    ("timestamp", "date"),
    ("timestamptz", "timestamp[ms]"),
    ("timestamp_ns", "timestamp[us]"),
    ("decimal(9, 3)", "decimal(9, 2)"),
    ("decimal(5, 2)", "decimal(9, 2)"),
    ("decimal(9, 2)", "int32"),
    ("fixed[4]", "fixed[5]"),
    ("string", "int32"),
    ("boolean", "int32"),
]


@pytest.mark.parametrize(
    ("wanted", "kind", "is_read"),
    [*((*each, True) for each in READ), *((*each, False) for each in NOT_READ)],
)
def test_only_what_is_known_to_be_read_rightly_is_read(tmp_path, wanted, kind, is_read):
    found = schema_in(written(tmp_path / "f.parquet", KINDS[kind]))

    why = why_misread(found, columns_of(schema_of((1, "v", wanted)), None))

    assert (why is None) == is_read
    if not is_read:
        assert why == f"its column v holds {kind}, and the table has {wanted}"


NESTED = {
    "struct": (
        pa.struct([pa.field("x", pa.timestamp("ns"), metadata={"PARQUET:field_id": "2"})]),
        {"type": "struct", "fields": [{"id": 2, "name": "x", "type": "timestamp"}]},
    ),
    "list": (
        pa.list_(pa.field("element", pa.timestamp("ns"), metadata={"PARQUET:field_id": "2"})),
        {"type": "list", "element-id": 2, "element": "timestamp"},
    ),
    "map": (
        pa.map_(
            pa.field("key", pa.string(), False, metadata={"PARQUET:field_id": "2"}),
            pa.field("value", pa.timestamp("ns"), metadata={"PARQUET:field_id": "3"}),
        ),
        {"type": "map", "key-id": 2, "key": "string", "value-id": 3, "value": "timestamp"},
    ),
}


@pytest.mark.parametrize("of", NESTED)
def test_values_inside_of_others_are_found(tmp_path, of):
    kind, document = NESTED[of]
    found = schema_in(written(tmp_path / "f.parquet", kind))

    assert "timestamp[ns]" in why_misread(found, columns_of(schema_of((1, "v", document)), None))


@pytest.mark.parametrize("mapping", [None, "[]", "no json", '[{"field-id": 1, "names": ["v"]}]'])
def test_files_without_ids_are_judged_by_name_or_by_what_is_never_read(tmp_path, mapping):
    columns = columns_of(schema_of((1, "v", "timestamp")), mapping)
    odd = schema_in(written(tmp_path / "odd.parquet", pa.timestamp("ns"), ids=False))
    good = schema_in(written(tmp_path / "good.parquet", pa.timestamp("us"), ids=False))

    assert why_misread(odd, columns) is not None
    assert why_misread(good, columns) is None


def file_of(path, *fields):
    """A file with these columns; those without an id have None."""
    listed = [
        pa.field(name, kind, metadata=None if id_ is None else {"PARQUET:field_id": str(id_)})
        for id_, name, kind in fields
    ]
    pq.write_table(pa.schema(listed).empty_table(), path / "f.parquet")
    return schema_in(path / "f.parquet")


LONG, PAIR = pa.int64(), pa.struct([pa.field("x", pa.int64())])
#: Columns of files without ids, in tables without a mapping, by ids and names of the table.
BY_PLACE = {
    "the same": ({1: "a", 2: "b"}, [("a", LONG), ("b", LONG)], None),
    "fewer": ({1: "a", 2: "b"}, [("a", LONG)], None),
    "one that is gone": ({1: "a", 3: "c"}, [("a", LONG), ("b", LONG), ("c", LONG)], None),
    "swapped": ({1: "a", 2: "b"}, [("b", LONG), ("a", LONG)], "b"),
    "moved up": ({1: "a", 3: "c"}, [("a", LONG), ("c", LONG)], "c"),
    "renamed": ({1: "a", 2: "c"}, [("a", LONG), ("b", LONG)], "b"),
    "with parts": ({1: "a", 2: "b"}, [("a", LONG), ("b", PAIR)], "b.x"),
    "another type": ({1: "a", 2: "b"}, [("a", LONG), ("b", pa.string())], ""),
}


@pytest.mark.parametrize("what", BY_PLACE)
def test_a_place_tells_a_column_only_where_its_name_says_the_same(tmp_path, what):
    names, columns, doubtful = BY_PLACE[what]
    table = columns_of(schema_of(*((id_, name, "long") for id_, name in names.items())), None)

    why = why_misread(file_of(tmp_path, *((None, *each) for each in columns)), table)

    if doubtful == "":
        assert why == "its column b holds string, and the table has long"
    elif doubtful is None:
        assert why is None
    else:
        assert why == f"its column {doubtful} has no field id, and the table no name mapping"


@pytest.mark.parametrize("mapping", [None, '[{"field-id": 2, "names": ["b"]}]'])
def test_a_column_without_an_id_beside_those_with_one_is_in_doubt(tmp_path, mapping):
    table = columns_of(schema_of((1, "a", "long"), (2, "b", "long")), mapping)

    why = why_misread(file_of(tmp_path, (1, "a", LONG), (None, "b", LONG)), table)

    assert why == "its column b has no field id, and others have one"


def test_columns_that_the_table_no_longer_has_do_not_matter(tmp_path):
    found = schema_in(written(tmp_path / "f.parquet", pa.timestamp("ns")))

    assert why_misread(found, columns_of(schema_of((2, "w", "long")), None)) is None


def test_files_are_opened_and_what_cannot_be_is_passed_over(tmp_path):
    columns = columns_of(schema_of((1, "v", "timestamp")), None)
    odd = written(tmp_path / "odd.parquet", pa.timestamp("ns"))
    good = written(tmp_path / "good.parquet", pa.timestamp("us"))
    (tmp_path / "broken.parquet").write_bytes(b"no file")
    paths = [odd.as_uri(), good.as_uri(), f"file:{tmp_path}/broken.parquet", "hdfs://n/f"]

    found = dict(_look([*paths, f"file:{tmp_path}/gone.parquet"], columns, {}, Storage()))

    assert list(found) == [odd.as_uri()]


def strings_of(path, *values, ids=True):
    field = pa.field("v", pa.string(), metadata={"PARQUET:field_id": "1"} if ids else None)
    pq.write_table(pa.table([pa.array(values, pa.string())], schema=pa.schema([field])), path)
    return path.as_uri()


@pytest.mark.parametrize("ids", [True, False])
def test_files_that_hold_other_values_than_their_partition_are_told(tmp_path, ids):
    columns = columns_of(schema_of((1, "v", "string")), None)
    files = {
        "same": (("a", "a"), "a"),
        "nulls": ((None, None), None),
        "other": (("b",), "a"),
        "some": (("a", None), "a"),
        "not null": (("a",), None),
        "empty": ((), "a"),
    }
    paths = {
        name: strings_of(tmp_path / f"{number}.parquet", *values, ids=ids)
        for number, (name, (values, _)) in enumerate(files.items())
    }
    in_doubt = {paths[name]: ((1, value),) for name, (_, value) in files.items()}

    found = dict(_look(in_doubt, columns, in_doubt, Storage()))

    assert set(found) == {paths[name] for name in ("other", "some", "not null")}
    assert set(found.values()) == {"the file's column 'v' is not its partition's value"}
    # What is not in doubt is not opened for it, and what a file lacks is its partition's value.
    assert dict(_look(in_doubt, columns, {}, Storage())) == {}
    lacking = {paths["other"]: ((2, "c"), (3, "d"))}
    columns = columns_of(schema_of((1, "v", "string"), (2, "w", "string")), None)
    assert dict(_look(lacking, columns, lacking, Storage())) == {}


def test_zeros_of_two_signs_are_two_values(tmp_path):
    columns = columns_of(schema_of((1, "v", "double")), None)
    field = pa.field("v", pa.float64(), metadata={"PARQUET:field_id": "1"})
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table([pa.array([0.0, -0.0])], schema=pa.schema([field])), path)
    in_doubt = {path.as_uri(): ((1, 0.0),)}

    assert list(dict(_look(in_doubt, columns, in_doubt, Storage()))) == [path.as_uri()]


def test_a_store_without_its_client_is_passed_over(monkeypatch):
    monkeypatch.setitem(sys.modules, "neve.storage.s3", None)
    columns = columns_of(schema_of((1, "v", "timestamp")), None)

    assert list(_look(["s3://b/a.parquet"], columns, {}, Storage())) == []


def test_nobody_waits_for_a_store_that_answers_nothing(monkeypatch):
    asked = []

    def refused(path, storage):
        asked.append(path)
        raise ParquetError("no answer")

    monkeypatch.setattr("neve.spark.rewrite.misread.opened", refused)
    columns = columns_of(schema_of((1, "v", "timestamp")), None)

    assert list(_look([f"s3://b/{n}" for n in range(500)], columns, {}, Storage())) == []
    assert len(asked) < 50

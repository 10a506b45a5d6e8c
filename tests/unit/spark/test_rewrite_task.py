"""The engine `rewrite` in a task: what it writes, how it proves it, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from neve.model.facts import DeleteKind
from neve.model.policy import Engine, Verify
from neve.model.rewrite import (
    DeleteDetails,
    RewriteTask,
    SpliceRequirements,
    TableLayout,
    TaskInput,
    TaskResult,
)
from neve.parquet.assembly.row_group import _Build
from neve.parquet.assembly.tables import GroupValues
from neve.rows.deletes import DELETE_FILE_PATH, DELETE_FILE_POS
from neve.rows.roaring import read_bitmap
from neve.rows.schema import LAST_UPDATED_SEQUENCE_NUMBER, ROW_ID
from neve.rows.vectors import write_puffin
from neve.spark.rewrite.rows import as_read, compared, kept, prove, provider
from neve.spark.rewrite.rows.source import FileRows
from neve.spark.rewrite.rows.sources import Sources
from neve.spark.rewrite.task import run_task
from neve.spark.rewrite.tasks import rewrite
from neve.storage.access import storage_of

ROWS = 100
COLUMNS = [
    {"id": 1, "name": "id", "required": False, "type": "long"},
    {"id": 2, "name": "text", "required": False, "type": "string"},
]


def field(id_, name, of):
    return pa.field(name, of, metadata={"PARQUET:field_id": str(id_)})


FILE = pa.schema([field(1, "id", pa.int64()), field(2, "text", pa.string())])


class Place:
    """A folder with three files of a hundred rows, in four row groups each, and their deletes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inputs = []
        for number in range(3):
            ids = list(range(number * ROWS, (number + 1) * ROWS))
            table = pa.table([ids, [f"t{n}" for n in ids]], schema=FILE)
            path = self.write(f"{number}.parquet", table, row_group_size=25)
            size = path.stat().st_size
            self.inputs.append(TaskInput(f"file://{path}", size, ROWS, 5, 1000 + number * ROWS))
        self.deletes: list[DeleteDetails] = []
        self.version, self.columns, self.properties, self.keep = 2, COLUMNS, {}, 1

    def write(self, name, table, **options):
        pq.write_table(table, self.folder / name, use_dictionary=False, **options)
        return self.folder / name

    def delete_positions(self, number, *positions, sequence_number=5):
        path = self.inputs[number].path
        schema = pa.schema(
            [
                field(DELETE_FILE_PATH, "file_path", pa.string()),
                field(DELETE_FILE_POS, "pos", pa.int64()),
            ]
        )
        table = pa.table([[path] * len(positions), list(positions)], schema=schema)
        self._add(DeleteKind.POSITION, table, len(positions), sequence_number)

    def delete_equal(self, *ids, sequence_number=6, equality_ids=(1,), of="parquet"):
        table = pa.table([list(ids)], schema=pa.schema([FILE.field(0)]))
        self._add(DeleteKind.EQUALITY, table, len(ids), sequence_number, equality_ids, of)

    def _add(self, kind, table, count, sequence_number, equality_ids=(), of="parquet"):
        path = self.write(f"d{len(self.deletes)}.parquet", table)
        size = path.stat().st_size
        self.deletes.append(
            DeleteDetails(
                f"file://{path}", kind, of, size, count, sequence_number, None, equality_ids
            )
        )

    def delete_by_vector(self, number, *positions):
        path = self.inputs[number].path
        data, written = write_puffin({path: np.array(positions, dtype=np.int64)}, "test")
        (self.folder / "v.puffin").write_bytes(data)
        self.deletes.append(
            DeleteDetails(
                f"file://{self.folder}/v.puffin",
                DeleteKind.DELETION_VECTOR,
                "puffin",
                len(data),
                len(positions),
                7,
                path,
                content_offset=written[0].offset,
                content_size_bytes=written[0].length,
            )
        )

    def run(self, outputs=1, verify=Verify.FULL) -> TaskResult:
        names = tuple((f"file://{self.folder}/new/{n}.parquet",) for n in range(outputs))
        task = RewriteTask(0, tuple(self.inputs), tuple(self.deletes), names, (Engine.REWRITE,))
        schema = json.dumps({"type": "struct", "schema-id": 0, "fields": self.columns})
        order = json.dumps({"order-id": 0, "fields": []})
        layout = TableLayout(self.version, schema, order, self.properties)
        wanted = SpliceRequirements((), None, False, self.keep, layout, verify)
        return run_task(task, wanted, storage_of({}), 0)

    def new_files(self):
        return sorted(self.folder.glob("new/*"))


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def read(file):
    return pq.read_table(file.path.removeprefix("file://"))


def live(result):
    return sorted(n for file in result.files for n in read(file).column("id").to_pylist())


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("keep", [1, 2**20], ids=["copied", "joined"])
def test_all_rows_are_there_and_accounted_for(place, outputs, keep):
    place.keep = keep
    result = place.run(outputs)

    assert result.refused is None
    assert live(result) == list(range(3 * ROWS))
    assert len(result.files) == outputs
    for file in result.files:
        assert file.proof.problem is None
        assert [one.path for one in file.ranges] == [place.inputs[n].path for n in file.inputs]
        assert all((one.first_row, one.rows, one.removed) == (0, ROWS, b"") for one in file.ranges)
        # What was kept as it is has the statistics of its sources.
        assert file.unmeasured == ({1, 2} if keep == 1 else set())
        counts = None if keep == 1 else {1: file.rows_out, 2: file.rows_out}
        assert file.metrics.value_counts == counts
        assert b"iceberg.schema" in pq.read_metadata(file.path.removeprefix("file://")).metadata


def test_deletes_of_all_kinds_take_their_rows_and_no_others(place):
    place.delete_positions(0, 3, 99)
    place.delete_positions(1, 7, sequence_number=4)
    place.delete_by_vector(1, 0, 1, 2)
    place.delete_equal(250, 251, 42, 9999)
    place.delete_equal(260, sequence_number=5)

    result = place.run()

    gone = {3, 99, 100, 101, 102, 250, 251, 42}
    (file,) = result.files
    assert live(result) == sorted(set(range(3 * ROWS)) - gone)
    assert (file.rows_in, file.rows_deleted, file.rows_out) == (300, 8, 292)
    removed = {
        number * ROWS + position
        for number, one in enumerate(place.inputs)
        for told in file.ranges
        if told.path == one.path and told.removed
        for position in read_bitmap(told.removed).tolist()
    }
    assert removed == gone
    assert file.proof.problem is None


def test_row_groups_that_no_key_can_be_in_are_copied(place):
    place.delete_equal(30, 31)
    (file,) = place.run().files

    groups = pq.read_metadata(file.path.removeprefix("file://"))
    assert [groups.row_group(n).num_rows for n in range(12)] == [25, 23, *[25] * 10]
    assert file.bytes_by_kind["copied"] > 10 * file.bytes_by_kind["encoded"]


def test_keys_with_nulls_take_rows_with_nulls(place):
    place.write("0.parquet", pa.table([[1, None, 3], ["a", "b", "c"]], schema=FILE))
    size = (place.folder / "0.parquet").stat().st_size
    place.inputs = [replace(place.inputs[0], size_bytes=size, record_count=3)]
    place.delete_equal(None, 3)

    assert live(place.run()) == [1]


def test_rows_of_format_3_keep_their_ids(place):
    place.version = 3
    place.delete_by_vector(1, 0)
    place.inputs[2] = replace(place.inputs[2], first_row_id=None)

    (file,) = place.run().files

    table = read(file)
    ids = {field.metadata[b"PARQUET:field_id"]: field.name for field in table.schema}
    rows = table.column(ids[str(ROW_ID).encode()]).to_pylist()
    updates = table.column(ids[str(LAST_UPDATED_SEQUENCE_NUMBER).encode()]).to_pylist()
    assert rows == [*range(1000, 1100), *range(1101, 1200), *[None] * ROWS]
    assert updates == [5] * 199 + [None] * ROWS
    assert file.proof.problem is None


def test_a_value_that_changed_on_the_way_is_found(place, monkeypatch):
    place.delete_positions(0, 3)
    real = rewrite.LiveColumns.columns

    def wrong(self, parts, field_ids):
        table = real(self, parts, field_ids)
        ids = pa.array([n + 1 for n in table.column("id").to_pylist()], pa.int64())
        return table.set_column(table.schema.get_field_index("id"), table.schema.field("id"), ids)

    monkeypatch.setattr(rewrite.LiveColumns, "columns", wrong)
    (file,) = place.run().files

    assert file.rows_out == file.rows_in - file.rows_deleted
    assert "has rows" in file.proof.problem


ALL_KINDS = [
    *COLUMNS,
    {"id": 3, "name": "ratio", "required": False, "type": "double"},
    {"id": 4, "name": "huge", "required": False, "type": "decimal(38, 0)"},
    {
        "id": 5,
        "name": "many",
        "required": False,
        "type": {"type": "list", "element-id": 6, "element": "double", "element-required": False},
    },
]


def with_all_kinds(place, **options):
    """Files in which dictionaries are given up half way, NaNs have payloads and zeros signs."""
    place.columns, place.keep = ALL_KINDS, 2**20
    bits = [0x7FF8 << 48, (0x7FF8 << 48) + 7, 1 << 63, 0, 0x3FF8 << 48]
    floats = np.array(bits, dtype=np.uint64).view(np.float64)
    for number, one in enumerate(place.inputs):
        ids = [n + number * ROWS for n in range(ROWS)]
        columns = [
            pa.array(ids),
            pa.array([None if n % 9 == 0 else f"t{n % 3 if n % ROWS < 50 else n}" for n in ids]),
            pa.array(floats[np.arange(ROWS) % 5]),
            pa.array([n - 10**30 for n in ids], pa.decimal128(38, 0)),
            pa.array([None if n % 7 == 0 else [0.0, None] * (n % 3) for n in ids]),
        ]
        element = field(6, "element", pa.float64())
        schema = pa.schema(
            [
                *FILE,
                field(3, "ratio", pa.float64()),
                field(4, "huge", pa.decimal128(38, 0)),
                field(5, "many", pa.list_(element)),
            ]
        )
        path = place.folder / f"{number}.parquet"
        pq.write_table(pa.table(columns, schema=schema), path, store_schema=False, **options)
        place.inputs[number] = replace(one, size_bytes=path.stat().st_size)


@pytest.mark.parametrize("pages", ["1.0", "2.0"])
@pytest.mark.parametrize("limit", [60, 2**20], ids=["dictionaries given up", "dictionaries"])
def test_values_of_all_kinds_are_those_of_the_sources(place, pages, limit):
    options = {"dictionary_pagesize_limit": limit, "data_page_size": 64, "write_batch_size": 8}
    with_all_kinds(place, data_page_version=pages, **options)
    sources = pa.concat_tables([pq.read_table(one.path[7:]) for one in place.inputs])

    (file,) = place.run().files

    assert file.proof.problem is None
    assert file.bytes_by_kind["encoded"] > 0
    written = read(file)
    for name in ("id", "text", "huge", "many"):
        assert written.column(name).to_pylist() == sources.column(name).to_pylist()
    bits = [t.column("ratio").to_numpy().view(np.uint64).tolist() for t in (written, sources)]
    assert bits[0] == bits[1]


@pytest.mark.parametrize(
    ("name", "wrong_value"), [("many", [-0.0, None]), ("ratio", -0.0), ("text", ""), ("huge", 1)]
)
def test_a_wrong_value_of_any_kind_is_found(place, monkeypatch, name, wrong_value):
    with_all_kinds(place)
    place.delete_positions(0, 5)
    real = rewrite.LiveColumns.columns

    def wrong(self, parts, field_ids):
        table = real(self, parts, field_ids)
        if name not in table.schema.names:
            return table
        at = table.schema.get_field_index(name)
        values = table.column(name).to_pylist()
        values[1 if name == "many" else 3] = wrong_value
        changed = pa.array(values, table.schema.field(at).type)
        return table.set_column(at, table.schema.field(at), changed)

    monkeypatch.setattr(rewrite.LiveColumns, "columns", wrong)
    (file,) = place.run().files

    assert file.rows_out == file.rows_in - file.rows_deleted
    assert "has rows" in file.proof.problem


def test_a_byte_of_a_kept_page_that_changed_on_the_way_is_found(place, monkeypatch):
    real = rewrite.assemble_local

    def wrong(plan, path, **options):
        result = real(plan, path, **options)
        data = bytearray(path.read_bytes())
        data[result.split_offsets[3] - 1] ^= 1
        path.write_bytes(data)
        return result

    monkeypatch.setattr(rewrite, "assemble_local", wrong)
    (file,) = place.run().files

    assert "were found equal" in file.proof.problem


@pytest.mark.parametrize("column", [0, 1])
def test_a_byte_of_an_encoded_page_that_changed_on_the_way_is_found(place, monkeypatch, column):
    place.keep = 2**20
    real = rewrite.assemble_local

    def wrong(plan, path, **options):
        result = real(plan, path, **options)
        chunk = pq.read_metadata(path).row_group(0).column(column)
        data = bytearray(path.read_bytes())
        data[chunk.data_page_offset + chunk.total_compressed_size - 1] ^= 1
        path.write_bytes(data)
        return result

    monkeypatch.setattr(rewrite, "assemble_local", wrong)
    (file,) = place.run().files

    assert file.bytes_by_kind["encoded"] == file.proof.kept_bytes > file.proof.compared_bytes
    assert "were found equal" in file.proof.problem


@pytest.mark.parametrize("with_deletes", [False, True])
def test_an_assembly_that_mixes_rows_up_is_found(place, monkeypatch, with_deletes):
    """What is expected comes from the read of the sources, not from what was handed on."""
    place.keep = 2**20
    if with_deletes:
        place.delete_positions(1, 3)
    real = GroupValues.table

    def wrong(self, run, tops):
        table = real(self, run, tops)
        return pa.concat_tables([table.slice(1), table.slice(0, 1)])

    monkeypatch.setattr(GroupValues, "table", wrong)
    (file,) = place.run().files

    assert file.rows_out == file.rows_in - file.rows_deleted
    assert "has rows" in file.proof.problem


def test_an_account_of_rows_that_is_not_the_plan_is_refused(place, monkeypatch):
    real = rewrite.assemble_local

    def wrong(*arguments, **options):
        result = real(*arguments, **options)
        return replace(result, ranges=(*result.ranges[1:], result.ranges[0]))

    monkeypatch.setattr(rewrite, "assemble_local", wrong)
    result = place.run()

    assert "accounts for its rows in another way" in result.refused
    assert not place.new_files()


@pytest.mark.parametrize("with_deletes", [False, True])
def test_every_value_of_a_source_is_read_once(place, monkeypatch, with_deletes):
    place.keep = 2**20
    if with_deletes:
        place.delete_positions(1, 3)
    read, real = [], FileRows.columns

    def counted(self, opened, ordinal, first_row, ids):
        read.extend((self.source.path, ordinal, id_) for id_ in ids)
        return real(self, opened, ordinal, first_row, ids)

    monkeypatch.setattr(FileRows, "columns", counted)
    (file,) = place.run().files

    assert file.proof.problem is None
    assert sorted(read) == sorted(
        (one.path, ordinal, id_) for one in place.inputs for ordinal in range(4) for id_ in (1, 2)
    )


def test_rows_that_changed_places_are_found(place, monkeypatch):
    place.version = 3
    real = rewrite.LiveColumns.columns

    def wrong(self, parts, field_ids):
        table = real(self, parts, field_ids)
        return table.take(list(reversed(range(table.num_rows))))

    monkeypatch.setattr(rewrite.LiveColumns, "columns", wrong)
    (file,) = place.run().files

    assert file.bytes_by_kind["copied"]
    assert "has rows" in file.proof.problem


def test_a_file_that_cannot_be_read_back_is_not_left_behind(place, monkeypatch):
    def fail(*_arguments):
        raise rewrite.ParquetUnsupported("It cannot be read.")

    monkeypatch.setattr(rewrite, "_check", fail)
    result = place.run()

    assert result.refused == "It cannot be read."
    assert not place.new_files()


def _lose_a_row(place):
    place.inputs[0] = replace(place.inputs[0], record_count=99)


def _take_all(place):
    place.delete_equal(*range(300))


def _nest(place):
    inner = {"type": "struct", "fields": [{**COLUMNS[0], "id": 8}]}
    place.columns = [*COLUMNS, {"id": 7, "name": "s", "required": False, "type": inner}]
    place.delete_equal(1, equality_ids=(8,))


def _whose(place):
    place.delete_by_vector(0, 1)
    place.deletes[0] = replace(place.deletes[0], referenced_path=None)


REFUSED = {
    "a vector of no file": (_whose, "does not say whose it is"),
    "a manifest that counts other rows": (_lose_a_row, "its manifest says 99"),
    "no rows left": (_take_all, "Every row of the group is deleted"),
    "keys inside of structs": (_nest, "which is nested"),
    "deletes in Avro": (lambda p: p.delete_equal(1, of="avro"), "avro files are not read"),
    "a key that is gone": (lambda p: p.delete_equal(1, equality_ids=(9,)), "not all of the fields"),
    "no key": (lambda p: p.delete_equal(1, equality_ids=()), "which columns it compares"),
    "a position beyond the end": (lambda p: p.delete_positions(0, ROWS), "takes row 100"),
    "pages of version 2": (
        lambda p: p.properties.update({"write.parquet.page-version": "v2"}),
        "version 2",
    ),
    "a type of its own": (
        lambda p: setattr(p, "columns", [{**COLUMNS[0], "type": "variant"}]),
        "type variant",
    ),
    "a name of ours": (
        lambda p: (
            setattr(p, "columns", [{**COLUMNS[0], "name": "_row_id"}]),
            setattr(p, "version", 3),
        ),
        "name of a row's id",
    ),
    "the name of a place": (
        lambda p: setattr(p, "columns", [{**COLUMNS[0], "name": "_pos"}]),
        "name of a row's position",
    ),
    "a required column that is missing": (
        lambda p: setattr(
            p, "columns", [*COLUMNS, {**COLUMNS[0], "id": 3, "name": "x", "required": True}]
        ),
        "lacks the required column",
    ),
    "a partition of another value": (
        lambda p: (
            setattr(p, "keep", 2**20),
            p.inputs.__setitem__(0, replace(p.inputs[0], constants=((2, "monday"),))),
        ),
        "not its partition's value",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_left_to_iceberg_is_refused_and_leaves_nothing(place, case):
    change, reason = REFUSED[case]
    change(place)

    result = place.run()

    assert reason in (result.refused or "")
    assert not result.files
    assert not place.new_files()


def changed(table):
    return table.set_column(0, table.schema.field(0), pa.array([7] * table.num_rows))


def halved(table):
    """One row takes the place of another."""
    return pa.concat_tables([table.slice(0, 1), table.slice(0, table.num_rows - 1)])


@pytest.mark.parametrize("wrong", [changed, halved])
def test_values_that_were_written_wrongly_are_found_where_they_are_read(place, monkeypatch, wrong):
    place.delete_positions(0, 3)
    right = rewrite.LiveColumns.columns
    monkeypatch.setattr(rewrite.LiveColumns, "columns", lambda *all_: wrong(right(*all_)))

    for verify in Verify:
        for file in place.new_files():
            file.unlink()
        (file,) = place.run(verify=verify).files
        assert (file.proof.problem is not None) == (verify is Verify.FULL)
        assert (file.rows_in, file.rows_deleted, file.rows_out) == (300, 1, 299)


def test_statistics_are_measured_whatever_is_verified(place):
    place.delete_positions(0, 3)

    found = {}
    for verify in Verify:
        for file in place.new_files():
            file.unlink()
        (file,) = place.run(verify=verify).files
        found[file.proof.level] = (file.metrics, file.unmeasured, file.ranges)

    assert list(found) == ["rows", "metadata", "counts"]
    assert found["rows"] == found["metadata"] == found["counts"]
    assert found["rows"][0].value_counts == {1: 299, 2: 299}


def _kept_with_deletes(place):
    """Row groups of all kinds, of which a few lose a row and the others are kept."""
    with_all_kinds(place, row_group_size=20)
    place.keep = 1
    place.delete_positions(0, 9)
    place.delete_positions(2, 99)


def test_statistics_of_kept_row_groups_are_those_of_their_values(place, monkeypatch):
    _kept_with_deletes(place)
    (told,) = place.run().files
    monkeypatch.setattr(prove, "told_by_footer", lambda *_: None)
    place.new_files()[0].unlink()
    (read_all,) = place.run().files

    assert told.bytes_by_kind["copied"] > told.bytes_by_kind["encoded"] > 0
    assert told.metrics == read_all.metrics
    assert told.metrics.null_value_counts[2] == sum(n % 9 == 0 for n in range(300)) - 1
    assert set(told.metrics.lower_bounds) == {1, 2, 3, 4}


def test_of_kept_row_groups_only_floating_point_numbers_are_read(place, monkeypatch):
    _kept_with_deletes(place)
    read, real = [], FileRows.batches

    def noted(self, opened, ordinal, ids, rows):
        if self.source.path != "what was encoded":
            read.append((ordinal, tuple(ids)))
        return real(self, opened, ordinal, ids, rows)

    monkeypatch.setattr(FileRows, "batches", noted)
    (file,) = place.run().files

    assert file.proof.problem is None
    # Values inside of lists have no statistics, and nobody looks for them.
    assert {ids for _, ids in read} == {(3,)}
    assert len(read) == 13


def test_text_in_large_offsets_and_nested_numbers_need_no_hashes(place, monkeypatch):
    """As pyiceberg and polars write them: the footer says which offsets they had in memory."""
    inner = {"type": "struct", "fields": [{**COLUMNS[1], "id": 8}]}
    many = {"type": "list", "element-id": 9, "element": "double", "element-required": False}
    place.columns, place.keep = (
        [
            *COLUMNS,
            {"id": 7, "name": "s", "required": False, "type": inner},
            {"id": 5, "name": "many", "required": False, "type": many},
        ],
        2**20,
    )
    schema = pa.schema(
        [
            FILE.field(0),
            field(2, "text", pa.large_string()),
            field(7, "s", pa.struct([field(8, "text", pa.large_string())])),
            field(5, "many", pa.list_(field(9, "element", pa.float64()))),
        ]
    )
    rows = [
        {"id": n, "text": f"t{n}", "s": {"text": f"s{n}"} if n % 3 else None, "many": [0.5, -0.0]}
        for n in range(ROWS)
    ]
    for number, one in enumerate(place.inputs):
        path = place.folder / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema), path)
        place.inputs[number] = replace(one, size_bytes=path.stat().st_size)
    monkeypatch.setattr(compared, "fingerprint", lambda *_: pytest.fail("It was hashed."))

    (file,) = place.run().files

    assert file.proof.problem is None
    assert file.bytes_by_kind["encoded"] == file.proof.kept_bytes
    assert read(file).to_pylist() == rows * 3


@pytest.mark.parametrize("limit", ["MAX_OPENED", "MAX_OPENED_LEAVES"])
def test_files_are_opened_again_where_there_are_too_many_to_stay_open(place, monkeypatch, limit):
    """One is always open, even if its columns are too many."""
    place.keep = 2**20
    monkeypatch.setattr(provider, limit, 1)

    (file,) = place.run().files

    assert file.proof.problem is None
    assert read(file).column("id").to_pylist() == list(range(3 * ROWS))


@pytest.mark.parametrize(
    "room", [{"MAX_OPENED": 2}, {"MAX_OPENED_LEAVES": 2 * len(COLUMNS)}], ids=str
)
def test_files_stay_open_as_far_as_there_is_room(place, monkeypatch, room):
    """A few columns of every file are read, then a few others of every file."""
    place.keep = 2**20
    together, real_open, opened = _Build._in_batches, Sources.open, []

    def one_by_one(build):
        for batch in together(build):
            yield from ({top: parts} for top, parts in batch.items())

    def counted(sources, number, *dictionaries):
        opened.append(number)
        return real_open(sources, number, *dictionaries)

    monkeypatch.setattr(_Build, "_in_batches", one_by_one)
    monkeypatch.setattr(Sources, "open", counted)
    for limit, value in room.items():
        monkeypatch.setattr(provider, limit, value)

    (file,) = place.run().files

    assert file.proof.problem is None
    assert opened == [0, 1, 2, 1, 2]
    assert read(file).column("id").to_pylist() == list(range(3 * ROWS))


def test_a_footer_that_readers_take_for_another_is_refused(place, monkeypatch):
    """Our own parser agrees with itself, so that another one is asked."""
    place.keep = 2**20
    real = as_read.read_as

    def elsewhere(metadata, group, leaf):
        start, chunk = real(metadata, group, leaf)
        return start, replace(chunk, codec="LZ4")

    monkeypatch.setattr(kept, "read_as", elsewhere)
    result = place.run()

    assert "Readers take a chunk of the new file for another one" in result.refused
    assert not place.new_files()


def test_what_arrow_finds_elsewhere_is_refused(place, monkeypatch):
    place.keep = 2**20
    real = as_read.read_as
    monkeypatch.setattr(prove, "read_as", lambda *asked: (5, real(*asked)[1]))

    assert "in another place" in place.run().refused
    assert not place.new_files()


@pytest.mark.parametrize("wrongly", [False, True])
def test_chunks_of_pages_of_several_kinds_are_read_as_a_whole(place, monkeypatch, wrongly):
    """One source has other pages: its own are encoded, and stand among those of the others."""
    place.keep = 2**20
    big = [f"{n:05d}-{'x' * 90}" for n in range(ROWS * 40)]
    for number, one in enumerate(place.inputs):
        table = pa.table([list(range(len(big))), big], schema=FILE)
        path = place.folder / f"{number}.parquet"
        pq.write_table(table, path, use_dictionary=False, compression="snappy")
        size = path.stat().st_size
        place.inputs[number] = replace(one, size_bytes=size, record_count=len(big))
    place.delete_positions(1, 7)
    read_back = []
    real = FileRows.batches

    def noted(self, opened, ordinal, ids, rows):
        for table in real(self, opened, ordinal, ids, rows):
            if self.source.path != "what was encoded":
                read_back.append(tuple(ids))
                if wrongly:
                    table = pa.concat_tables([table.slice(1), table.slice(0, 1)])
            yield table

    monkeypatch.setattr(FileRows, "batches", noted)
    (file,) = place.run().files

    assert min(file.bytes_by_kind["joined"], file.bytes_by_kind["encoded"]) > 0
    assert read_back == [(1,), (2,)]
    assert (file.proof.problem is not None) == wrongly
    assert file.metrics.value_counts == {1: 3 * len(big) - 1, 2: 3 * len(big) - 1}

"""Rows that equality deletes take away.

All keys of a task lie in one table: of a key that was deleted several times, the newest delete
counts. Rows find their key by its hash, and are then compared with it value by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from neve.model.errors import RowsUnsupported
from neve.rows.arrow import arrow_schema
from neve.rows.hashing import Words, hash_rows
from neve.rows.sameness import plain_values, same_rows
from neve.rows.schema import Field, Schema

SequenceNumbers = npt.NDArray[np.int64]

#: So many keys are read before they are made one with those that are known.
CHUNK_KEYS: Final = 1_000_000
_MAX_FILTER_BITS: Final = 24


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """What is known of a column in a row group. None means that it is not known."""

    lower: Any = None
    upper: Any = None
    null_count: int | None = None
    #: Every value that is there, where a dictionary tells them all.
    values: Any = None


@dataclass(frozen=True, slots=True)
class EqualityDeletes:
    """Deleted keys of one set of equality fields, each with its newest sequence number."""

    schema: Schema
    keys: Any
    high: Words
    low: Words
    sequence_numbers: SequenceNumbers
    #: By the first bits of a hash, whether any key begins with them.
    known: npt.NDArray[np.bool_]

    def deleted(self, rows: Any, data_sequence_number: int) -> npt.NDArray[np.bool_]:
        """For each row whether it is deleted; the rows are evolved, and of one data file."""
        mask = np.zeros(rows.num_rows, dtype=np.bool_)
        if not self.keys.num_rows or int(self.sequence_numbers.max()) <= data_sequence_number:
            return mask
        high, low = hash_rows(rows, self.schema)
        some = np.flatnonzero(self.known[high >> self._shift])
        at = np.searchsorted(self.high, high[some])
        at[at == len(self.high)] = 0
        hit = (self.high[at] == high[some]) & (self.low[at] == low[some])
        hit &= self.sequence_numbers[at] > data_sequence_number
        found, keys = some[hit], at[hit]
        names = [field.name for field in self.schema.fields]
        if not np.all(same_rows(rows.select(names).take(found), self.keys.take(keys), self.schema)):
            raise _collision()
        mask[found] = True
        return mask

    def may_hold(self, ranges: Mapping[int, ColumnRange], data_sequence_number: int) -> bool:
        """False where a row group cannot hold any deleted key, so that it can be copied."""
        possible = self.sequence_numbers > data_sequence_number
        for field in self.schema.fields:
            known = ranges.get(field.id)
            if known is not None and possible.any():
                keys = plain_values(self.keys.column(field.name).combine_chunks(), field)
                possible &= _possible(keys, field, known)
        return bool(possible.any())

    @property
    def _shift(self) -> np.uint64:
        return np.uint64(64 - len(self.known).bit_length() + 1)


def collect_deletes(
    schema: Schema, field_ids: Sequence[int], files: Iterable[tuple[Any, int]]
) -> EqualityDeletes:
    """One table of keys from delete files of the same equality fields.

    Each file is a table, evolved to `schema.select(field_ids)`, with the delete's sequence number.
    Only deletes that apply to the partition, or to all of them, may be given.
    """
    chosen = schema.select(field_ids)
    for field in chosen.fields:
        # Spark with Iceberg 1.12 takes other rows than the keys name where they lie in structs.
        if field.type.is_nested:
            raise RowsUnsupported(f"Rows are not deleted by {field.name!r}, which is nested.")
    names = [field.name for field in chosen.fields]
    found = _empty(chosen)
    waiting: list[tuple[Any, int]] = []
    for table, sequence_number in files:
        waiting.append((table.select(names), sequence_number))
        if sum(each.num_rows for each, _ in waiting) >= CHUNK_KEYS:
            found, waiting = _merged(found, waiting), []
    return _merged(found, waiting) if waiting else found


def _empty(schema: Schema) -> EqualityDeletes:
    words, numbers = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    keys = arrow_schema(schema).empty_table()
    return EqualityDeletes(schema, keys, words, words, numbers, np.zeros(2, dtype=np.bool_))


def _merged(known: EqualityDeletes, new: Sequence[tuple[Any, int]]) -> EqualityDeletes:
    tables = [_plain(table, known.schema) for table, _ in new]
    hashes = [hash_rows(table, known.schema) for table in tables]
    keys = pa.concat_tables([known.keys, *tables])
    high = np.concatenate([known.high, *(each for each, _ in hashes)])
    low = np.concatenate([known.low, *(each for _, each in hashes)])
    numbers = [np.full(table.num_rows, number, dtype=np.int64) for table, number in new]
    sequence_numbers = np.concatenate([known.sequence_numbers, *numbers])
    order = np.lexsort((-sequence_numbers, low, high))
    high, low = high[order], low[order]
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    first = order[np.flatnonzero(is_new)[np.cumsum(is_new) - 1]]
    again = ~is_new
    same = same_rows(keys.take(order[again]), keys.take(first[again]), known.schema)
    high, low, chosen = high[is_new], low[is_new], order[is_new]
    if not np.all(same) or np.any(high[1:] == high[:-1]):
        raise _collision()
    return EqualityDeletes(
        known.schema, keys.take(chosen), high, low, sequence_numbers[chosen], _filter(high)
    )


def _plain(table: Any, schema: Schema) -> Any:
    """The keys without dictionaries, which differ from file to file."""
    return table.cast(arrow_schema(schema))


def _filter(high: Words) -> npt.NDArray[np.bool_]:
    bits = min(_MAX_FILTER_BITS, max(10, len(high).bit_length() + 3))
    known = np.zeros(2**bits, dtype=np.bool_)
    known[high >> np.uint64(64 - bits)] = True
    return known


def _possible(keys: Any, field: Field, known: ColumnRange) -> npt.NDArray[np.bool_]:
    """For each key whether the column may hold it. What cannot be compared may be there."""
    is_float = field.type.name in ("float", "double")
    inside = np.ones(len(keys), dtype=np.bool_)
    try:
        if known.lower is not None:
            inside &= _told(pc.greater_equal(keys, _scalar(known.lower, keys.type)))
        if known.upper is not None:
            inside &= _told(pc.less_equal(keys, _scalar(known.upper, keys.type)))
        # Arrow's sets may tell zeros or NaNs apart in another way.
        if known.values is not None and not is_float:
            inside &= _told(pc.is_in(keys, plain_values(known.values, field)))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        inside[:] = True
    if is_float:
        # Bounds do not speak of NaN.
        inside |= _told(pc.is_nan(keys))
    is_null = keys.is_null().to_numpy(zero_copy_only=False)
    return np.where(is_null, known.null_count != 0, inside)


def _scalar(value: Any, kind: Any) -> Any:
    return value.cast(kind) if isinstance(value, pa.Scalar) else pa.scalar(value, kind)


def _told(answers: Any) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = answers.fill_null(False).to_numpy(zero_copy_only=False)
    return found


def _collision() -> RowsUnsupported:
    return RowsUnsupported("Two different keys of equality deletes have the same hash.")

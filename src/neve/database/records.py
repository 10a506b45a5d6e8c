"""Records of a WRITE held against the columns of its table: all troubles, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neve.database.values import Unfit, reader_of
from neve.model.database import Column, FieldTrouble, Row
from neve.model.errors import RecordsRefused
from neve.policy.values import suggest

#: More are counted, not told.
MAX_TROUBLES = 20


def read_records(columns: Sequence[Column], records: Sequence[Row]) -> list[dict[str, object]]:
    """Rows as the columns hold them; raise RecordsRefused where one does not fit."""
    readers = {column.name: reader_of(column) for column in columns}
    required = [column.name for column in columns if column.required]
    troubles: list[FieldTrouble] = []
    rows: list[dict[str, object]] = []
    for number, record in enumerate(records):
        row: dict[str, object] = {}
        for name, value in record.items():
            if value is None:
                if name not in readers:
                    troubles.append(_unknown(number, name, columns))
                continue
            try:
                row[name] = readers[name](value)
            except KeyError:
                troubles.append(_unknown(number, name, columns))
            except Unfit as error:
                message = f"Record {number + 1}, field {name}{error.place[:200]}: {error}."
                troubles.append(FieldTrouble(("records", number, name), message))
        troubles += _missing(number, row, record, required)
        rows.append(row)
    if troubles:
        more = f" And {len(troubles) - 1} more." if len(troubles) > 1 else ""
        raise RecordsRefused(
            troubles[0].message + more,
            troubles=troubles[:MAX_TROUBLES],
            next_step="Correct them and send all again: nothing was written.",
        )
    return rows


def _missing(number: int, row: Row, record: Row, required: Sequence[str]) -> Iterator[FieldTrouble]:
    for name in required:
        # One that is there and does not fit is told already.
        if name not in row and record.get(name) is None:
            message = f"Record {number + 1}, field {name}: it is required."
            yield FieldTrouble(("records", number, name), message)


def _unknown(number: int, name: str, columns: Sequence[Column]) -> FieldTrouble:
    hint = suggest(name[:80], (column.name for column in columns))
    message = f"Record {number + 1}: the table has no column {name[:80]!r}. {hint}"
    return FieldTrouble(("records", number, name[:80]), message)

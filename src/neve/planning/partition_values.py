"""Partition values in JSON, as Iceberg's specification writes single values."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from neve.model.exact import ExactFloat
from neve.model.facts import EPOCH, PartitionField, PartitionKey, TableFacts
from neve.model.groups import JsonValue, PartitionValue

SECONDS_PER_DAY = 86_400
#: The calendar repeats itself.
YEARS_PER_ERA, DAYS_PER_ERA = 400, 146_097
MICROSECONDS, NANOSECONDS = 6, 9


def partition_values(facts: TableFacts, key: PartitionKey) -> tuple[PartitionValue, ...]:
    """The values of a partition with the fields that they belong to."""
    spec_id, values = key
    return tuple(
        PartitionValue(
            field.name, field.transform, field.source_column, to_json_value(field, value)
        )
        for field, value in zip(facts.specs[spec_id].fields, values, strict=True)
    )


def to_json_value(field: PartitionField, value: object) -> JsonValue:
    """The value of a partition field, typed by the result of its transform."""
    if isinstance(value, float):
        return ExactFloat(value)
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return _number(field.result_type, value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal | UUID):
        return str(value)
    raise TypeError(f"no JSON form for {type(value).__name__} in partition field {field.name}")


def _number(result_type: str, value: int) -> JsonValue:
    zone = "+00:00" if result_type.startswith("timestamptz") else ""
    if result_type == "date":
        return _day(value)
    if result_type == "time":
        return (EPOCH + timedelta(microseconds=value)).time().isoformat(timespec="microseconds")
    if result_type in ("timestamp", "timestamptz"):
        return f"{_moment(value, MICROSECONDS)}{zone}"
    if result_type in ("timestamp_ns", "timestamptz_ns"):
        return f"{_moment(value, NANOSECONDS)}{zone}"
    return value


def _moment(value: int, digits: int) -> str:
    seconds, fraction = divmod(value, 10**digits)
    days, second_of_day = divmod(seconds, SECONDS_PER_DAY)
    time = (EPOCH + timedelta(seconds=second_of_day)).time().isoformat()
    return f"{_day(days)}T{time}.{fraction:0{digits}d}"


def _day(days: int) -> str:
    """A date of any year, as ISO 8601 has it; Python's own end with the year 9999."""
    eras, day_of_era = divmod(days, DAYS_PER_ERA)
    day = EPOCH + timedelta(days=day_of_era)
    year = day.year + YEARS_PER_ERA * eras
    sign = "+" if year > 9999 else "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{day:%m-%d}"

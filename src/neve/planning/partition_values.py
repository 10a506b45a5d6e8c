"""Partition values in JSON, as Iceberg's specification writes single values."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from neve.model.facts import EPOCH, PartitionField, PartitionKey, TableFacts
from neve.model.plan import JsonValue, PartitionValue


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
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int):
        return _number(field.result_type, value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal | UUID):
        return str(value)
    raise TypeError(f"no JSON form for {type(value).__name__} in partition field {field.name}")


def _number(result_type: str, value: int) -> JsonValue:
    if result_type == "date":
        return (EPOCH + timedelta(days=value)).date().isoformat()
    if result_type == "time":
        return (EPOCH + timedelta(microseconds=value)).time().isoformat(timespec="microseconds")
    if result_type in ("timestamp", "timestamptz"):
        moment = (EPOCH + timedelta(microseconds=value)).replace(tzinfo=None)
        zone = "+00:00" if result_type == "timestamptz" else ""
        return moment.isoformat(timespec="microseconds") + zone
    if result_type in ("timestamp_ns", "timestamptz_ns"):
        seconds, nanoseconds = divmod(value, 10**9)
        moment = (EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None)
        zone = "+00:00" if result_type == "timestamptz_ns" else ""
        return f"{moment.isoformat()}.{nanoseconds:09d}{zone}"
    return value

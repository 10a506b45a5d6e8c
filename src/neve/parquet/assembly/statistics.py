"""Statistics of chunks that become one: counts are added, bounds only where their order is sure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from neve.parquet import spans, thrift
from neve.parquet.assembly.values import ValueType
from neve.parquet.layout import Physical, Stats
from neve.planning.bounds import BoundType, bound_type

_BYTES: Final = frozenset((Physical.BYTE_ARRAY, Physical.FIXED_LEN_BYTE_ARRAY))
_INT_BYTES: Final = {Physical.INT32: 4, Physical.INT64: 8}


@dataclass(frozen=True, slots=True)
class ChunkStatistics:
    """What is known about the values of a chunk; None where nothing is."""

    nulls: int | None = None
    #: In Parquet's own form.
    lower: bytes | None = None
    upper: bytes | None = None
    #: Whether the bounds are values of the chunk, not just below and above them.
    is_exact: bool = False


NOTHING: Final = ChunkStatistics()


@dataclass(frozen=True, slots=True)
class Trust:
    """Of which values a writer's bounds are to be believed."""

    numbers: bool
    byte_strings: bool

    def of(self, value: ValueType) -> bool:
        """Whether bounds of such values are."""
        return self.byte_strings if value.physical in _BYTES else self.numbers


def read_statistics(footer: bytes, at: int, value: ValueType, trust: Trust) -> ChunkStatistics:
    """The statistics that lie at `at` of an encoded footer, without what is not to be believed."""
    if not at:
        return NOTHING
    opened = spans.open_struct(footer, at)
    nulls = opened.integer(Stats.NULL_COUNT)
    nulls = nulls if nulls is not None and nulls >= 0 else None
    lower, upper = opened.binary(Stats.MIN_VALUE), opened.binary(Stats.MAX_VALUE)
    if lower is None or upper is None or not trust.of(value) or _contradict(lower, upper, value):
        return ChunkStatistics(nulls)
    is_exact = (opened.kind(Stats.IS_MIN_EXACT), opened.kind(Stats.IS_MAX_EXACT)) == (
        thrift.TRUE,
        thrift.TRUE,
    )
    return ChunkStatistics(nulls, lower, upper, is_exact)


def merged(
    chunks: Sequence[ChunkStatistics], rows: Sequence[int], value: ValueType
) -> ChunkStatistics:
    """What is known about the values of all chunks together; `rows` are values, nulls included."""
    known = [chunk.nulls for chunk in chunks if chunk.nulls is not None]
    nulls = sum(known) if len(known) == len(chunks) else None
    # A chunk of nulls has no bounds and needs none.
    filled = [chunk for chunk, count in zip(chunks, rows, strict=True) if chunk.nulls != count]
    order = _order(value)
    if order is None or not filled:
        return ChunkStatistics(nulls)
    lower = _pick(order, value, [chunk.lower for chunk in filled], min)
    upper = _pick(order, value, [chunk.upper for chunk in filled], max)
    if lower is None or upper is None:
        return ChunkStatistics(nulls)
    return ChunkStatistics(nulls, lower, upper, all(chunk.is_exact for chunk in filled))


def encode_statistics(statistics: ChunkStatistics) -> bytes | None:
    """The statistics as a footer holds them, or None where there is nothing to say."""
    fields = []
    if statistics.nulls is not None:
        fields.append(thrift.Field(Stats.NULL_COUNT, thrift.I64, statistics.nulls))
    if statistics.lower is not None and statistics.upper is not None:
        fields.append(thrift.Field(Stats.MAX_VALUE, thrift.BINARY, statistics.upper))
        fields.append(thrift.Field(Stats.MIN_VALUE, thrift.BINARY, statistics.lower))
        if statistics.is_exact:
            fields.append(thrift.Field(Stats.IS_MAX_EXACT, thrift.TRUE, True))
            fields.append(thrift.Field(Stats.IS_MIN_EXACT, thrift.TRUE, True))
    return thrift.encode_struct(thrift.Struct(tuple(fields))) if fields else None


def decoded_bounds(statistics: ChunkStatistics, value: ValueType) -> tuple[Any, Any] | None:
    """Both bounds as values, or None where they are not known."""
    order = _order(value)
    if order is None or statistics.lower is None or statistics.upper is None:
        return None
    bounds = [_decode(order, value, each) for each in (statistics.lower, statistics.upper)]
    return None if None in bounds else (bounds[0], bounds[1])


def _pick(
    order: BoundType, value: ValueType, bounds: Sequence[bytes | None], choose: Callable[..., Any]
) -> bytes | None:
    decoded = [None if bound is None else _decode(order, value, bound) for bound in bounds]
    if any(bound is None for bound in decoded):
        return None
    picked = order.pick(decoded, choose)
    return None if picked is None else _to_parquet(picked, value)


def _contradict(lower: bytes, upper: bytes, value: ValueType) -> bool:
    order = _order(value)
    if order is None:
        return True
    low, high = _decode(order, value, lower), _decode(order, value, upper)
    return low is None or high is None or order.inverted(low, high)


def _order(value: ValueType) -> BoundType | None:
    name = value.iceberg_type
    return None if name is None else bound_type(name)


def _decode(order: BoundType, value: ValueType, bound: bytes) -> Any:
    if value.kind == "decimal" and value.physical in _INT_BYTES:
        if len(bound) != _INT_BYTES[value.physical]:
            return None
        return int.from_bytes(bound, "little", signed=True)
    if value.physical == Physical.FIXED_LEN_BYTE_ARRAY and len(bound) != value.length:
        # Some writers cut the bounds of long ones, which is right for bytes only.
        return order.decode(bound) if value.kind == "plain" else None
    return order.decode(bound)


def _to_parquet(picked: bytes, value: ValueType) -> bytes:
    if value.kind != "decimal":
        return picked
    number = int.from_bytes(picked, "big", signed=True)
    if value.physical in _INT_BYTES:
        return number.to_bytes(_INT_BYTES[value.physical], "little", signed=True)
    return number.to_bytes(value.length or 0, "big", signed=True) if value.length else picked

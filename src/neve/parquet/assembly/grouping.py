"""Which row groups of the sources become one row group of the new file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neve.parquet.assembly.plan import AssemblyLimits, Part


def group_parts(parts: Sequence[Part], limits: AssemblyLimits) -> list[tuple[Part, ...]]:
    """Large row groups one by one, then small ones together, each kind in its order."""
    large = [part for part in parts if _stands_alone(part, limits)]
    small = [part for part in parts if not _stands_alone(part, limits)]
    return [*((part,) for part in large), *_packed(small, limits)]


def _stands_alone(part: Part, limits: AssemblyLimits) -> bool:
    return part.group.compressed_bytes >= min(
        limits.keep_row_group_bytes, limits.target_row_group_bytes
    )


def _packed(parts: Sequence[Part], limits: AssemblyLimits) -> Iterator[tuple[Part, ...]]:
    """Groups of about the same size, none of which is much larger than the target."""
    total = sum(part.group.compressed_bytes for part in parts)
    count = max(1, -(-total // limits.target_row_group_bytes))
    share = total / count
    group: list[Part] = []
    size_bytes = rows = 0
    for part in parts:
        full = group and size_bytes + part.group.compressed_bytes / 2 > share
        if full or (group and rows + part.rows > limits.max_row_group_rows):
            yield tuple(group)
            group, size_bytes, rows = [], 0, 0
        group.append(part)
        size_bytes += part.group.compressed_bytes
        rows += part.rows
    if group:
        yield tuple(group)

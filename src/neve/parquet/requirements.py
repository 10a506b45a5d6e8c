"""May these files be copied as they are? What footers say about it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neve.model.rewrite import LeafColumn, SpliceRequirements
from neve.model.sizes import format_size
from neve.parquet.footer import Footer
from neve.parquet.schema import Leaf

BOOLEAN, INT32, INT64, _INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = range(8)
PHYSICAL_TYPES = {
    "boolean": {BOOLEAN},
    "int": {INT32},
    "date": {INT32},
    "long": {INT64},
    "time": {INT64},
    "timestamp": {INT64},
    "timestamptz": {INT64},
    "float": {FLOAT},
    "double": {DOUBLE},
    "string": {BYTE_ARRAY},
    "binary": {BYTE_ARRAY},
    "uuid": {FIXED},
}
DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
FIXED_LENGTH = re.compile(r"fixed\[(\d+)\]")


def refusal(footers: Sequence[Footer], wanted: SpliceRequirements) -> str | None:
    """Why the files are not to be copied, or None."""
    for footer in footers:
        if why := refusal_of_file(footer, wanted):
            return why
    return _row_group_refusal(footers, wanted.min_row_group_bytes)


def refusal_of_file(footer: Footer, wanted: SpliceRequirements) -> str | None:
    """Why one file is not to be copied, whatever the others are like, or None."""
    why = _schema_refusal(footer, wanted.columns) or _encoding_refusal(footer, wanted)
    return why and f"{footer.path}: {why}"


def _schema_refusal(footer: Footer, columns: Sequence[LeafColumn]) -> str | None:
    if not footer.schema.has_all_field_ids:
        return f"column {footer.schema.without_field_id[0]} has no field id"
    leaves = {leaf.field_id: leaf for leaf in footer.schema.leaves}
    expected = {column.field_id: column for column in columns}
    if extra := leaves.keys() - expected.keys():
        path = ".".join(leaves[min(extra, key=str)].path)
        return f"column {path} is not in the current schema"
    if missing := expected.keys() - leaves.keys():
        return f"the column with field id {min(missing)} is not in the file"
    for field_id, column in expected.items():
        if not _same_type(leaves[field_id], column.type):
            return f"column {'.'.join(leaves[field_id].path)} is not stored as {column.type}"
    return None


def _same_type(leaf: Leaf, of: str) -> bool:
    if decimal := DECIMAL.fullmatch(of):
        precision, scale = int(decimal.group(1)), int(decimal.group(2))
        compact = INT32 if precision <= 9 else INT64 if precision <= 18 else FIXED
        return leaf.physical_type in (compact, FIXED) and (leaf.precision, leaf.scale or 0) == (
            precision,
            scale,
        )
    if fixed := FIXED_LENGTH.fullmatch(of):
        return leaf.physical_type == FIXED and leaf.type_length == int(fixed.group(1))
    # Types that are not listed (variant, geometry, nanoseconds, unknown) are left to Spark.
    return leaf.physical_type in PHYSICAL_TYPES.get(of, ())


def _encoding_refusal(footer: Footer, wanted: SpliceRequirements) -> str | None:
    if wanted.codec is not None and footer.codecs - _accepted_codecs(wanted.codec):
        found = ", ".join(sorted(footer.codecs)).lower()
        return f"it is compressed by {found}, and the table wants {wanted.codec}"
    if wanted.needs_bloom_filters and not footer.has_bloom_filter:
        return "the table wants bloom filters, and it has none"
    return None


def _accepted_codecs(codec: str) -> set[str]:
    # Writers who are asked for lz4 write one of two forms of it.
    return {"LZ4", "LZ4_RAW"} if codec.lower() == "lz4" else {codec.upper()}


def _row_group_refusal(footers: Sequence[Footer], min_row_group_bytes: int) -> str | None:
    sizes = [group.compressed_bytes for footer in footers for group in footer.filled_row_groups]
    average = sum(sizes) / len(sizes) if sizes else 0
    if not sizes or average >= min_row_group_bytes:
        return None
    return (
        f"row groups of {format_size(average)} on average are too small to keep "
        f"(below {format_size(min_row_group_bytes)})"
    )

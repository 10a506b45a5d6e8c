"""What the sources of a splice must have in common, and what the new file says for all of them.

- The schema: the same columns with the same types and field ids, or the splice is refused.
- Key-value metadata: a key stays if every source has it with the same value. A key that changes
  how values are read must agree, or the splice is refused; any other is left out and noted.
- Column orders: the same, or refused; missing somewhere, they are left out, because they would
  vouch for bounds that their own writer did not vouch for.
- `created_by`: see `writers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from neve.model.errors import ParquetUnsupported
from neve.parquet import thrift, writers
from neve.parquet.footer import Footer
from neve.parquet.layout import EXTENSION_ID, FileMeta, Physical

_NEWEST_VERSION: Final = 2
_KNOWN_FIELDS: Final = frozenset(range(FileMeta.VERSION, FileMeta.SIGNING_KEY + 1))

#: Spark rebases old dates by these, Iceberg reads delete files by the last two.
_MEANINGFUL_KEYS: Final = frozenset(
    (
        b"org.apache.spark.legacyDateTime",
        b"org.apache.spark.legacyINT96",
        b"org.apache.spark.timeZone",
        b"org.apache.spark.version",
        b"delete-field-ids",
        b"delete-type",
    )
)
#: pandas notes the length of the index, which is wrong for more than one file even when equal.
_OWN_ROWS_KEYS: Final = frozenset((b"pandas",))


@dataclass(frozen=True, slots=True)
class Agreement:
    """The parts of the new footer that come from all sources together."""

    version: int
    raw_schema: bytes
    key_values: tuple[tuple[bytes, bytes | None], ...]
    created_by: bytes | None
    #: Other fields of the footer, each as id, kind and encoded value.
    other_fields: tuple[tuple[int, int, bytes], ...]
    #: What was left out and why, for the plan's reader.
    notes: tuple[str, ...]


def agree(footers: Sequence[Footer]) -> Agreement:
    """Check that the files can become one, and say what that file's footer holds."""
    if not footers:
        raise ParquetUnsupported("There is no file to splice.")
    for footer in footers:
        _check_alone(footer)
        if footer.schema.canonical != footers[0].schema.canonical:
            raise ParquetUnsupported(f"{footer.path} and {footers[0].path} differ in schema.")
    # A file without rows lends no pages, so its habits bind nobody.
    voters = [footer for footer in footers if footer.rows] or list(footers)
    key_values, key_notes = _merge_key_values(voters)
    other_fields, field_notes = _merge_other_fields(voters)
    int96 = any(leaf.physical_type == Physical.INT96 for leaf in voters[0].schema.leaves)
    return Agreement(
        version=max(footer.version for footer in voters),
        raw_schema=voters[0].schema.raw,
        key_values=key_values,
        created_by=writers.common_name([footer.created_by for footer in voters], has_int96=int96),
        other_fields=other_fields,
        notes=key_notes + field_notes,
    )


def _check_alone(footer: Footer) -> None:
    if footer.encrypted:
        raise ParquetUnsupported(f"{footer.path} is encrypted or has a signed footer.")
    if not 1 <= footer.version <= _NEWEST_VERSION:
        raise ParquetUnsupported(f"{footer.path} has the unknown version {footer.version}.")
    writers.check_sizes_are_right(footer.created_by)


def _merge_key_values(
    footers: Sequence[Footer],
) -> tuple[tuple[tuple[bytes, bytes | None], ...], tuple[str, ...]]:
    maps = [dict(footer.key_values) for footer in footers]
    kept: list[tuple[bytes, bytes | None]] = []
    notes: list[str] = []
    for key in dict.fromkeys(key for pairs in maps for key in pairs):
        shared = all(key in pairs and pairs[key] == maps[0].get(key) for pairs in maps)
        if shared and (key not in _OWN_ROWS_KEYS or len(maps) == 1):
            kept.append((key, maps[0][key]))
            continue
        name = key.decode(errors="replace")
        if key in _MEANINGFUL_KEYS:
            raise ParquetUnsupported(f"The files differ in {name!r}, which changes what they mean.")
        notes.append(f"key {name!r} left out: it is not the same in all files")
    return tuple(kept), tuple(notes)


def _merge_other_fields(
    footers: Sequence[Footer],
) -> tuple[tuple[tuple[int, int, bytes], ...], tuple[str, ...]]:
    field_ids = dict.fromkeys(
        field_id
        for footer in footers
        for field_id in footer.opened.fields
        if field_id not in _KNOWN_FIELDS or field_id == FileMeta.COLUMN_ORDERS
    )
    kept: list[tuple[int, int, bytes]] = []
    notes: list[str] = []
    for field_id in field_ids:
        versions = {
            (footer.opened.kind(field_id), footer.opened.raw(field_id)) for footer in footers
        }
        kind, raw = next(iter(versions))
        if len(versions) == 1 and kind and raw is not None and field_id != EXTENSION_ID:
            kept.append((field_id, kind, raw))
        elif field_id == FileMeta.COLUMN_ORDERS and (None, None) not in versions:
            raise ParquetUnsupported("The files order their columns' bounds in different ways.")
        else:
            notes.append(f"footer field {field_id} left out: it is not the same in all files")
    return tuple(kept), tuple(notes)


def encode_key_values(pairs: Sequence[tuple[bytes, bytes | None]]) -> bytes:
    """Key-value metadata as the footer holds it."""
    out = [thrift.encode_list_header(thrift.STRUCT, len(pairs))]
    for key, value in pairs:
        fields = [thrift.Field(1, thrift.BINARY, key)]
        if value is not None:
            fields.append(thrift.Field(2, thrift.BINARY, value))
        out.append(thrift.encode_struct(thrift.Struct(tuple(fields))))
    return b"".join(out)

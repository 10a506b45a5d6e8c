"""How rows are written: `write.parquet.*`, and what the inputs' footers show to pay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from neve.model.errors import RowsUnsupported
from neve.rows.arrow import children, field_id
from neve.rows.schema import LIST, MAP, UNKNOWN, Schema

_CODECS: Final = ("zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed")
_LEVELLED: Final = ("zstd", "gzip", "brotli")
#: Where nobody asks for a level: what Java's writers do. Arrow's own is 9 for gzip, which takes ten
#: times as long as 6 on some data, for a few percent of the bytes.
_USUAL_LEVELS: Final = {"gzip": 6, "brotli": 1}
#: Iceberg's default for tables without the property; those made since 1.4 have it as zstd.
_DEFAULT_CODEC: Final = "gzip"
_MIN_ROWS: Final = 1
_MAX_ROWS: Final = 64 * 1024 * 1024
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """What a table's properties ask of its Parquet files."""

    compression: str = _DEFAULT_CODEC
    compression_level: int | None = 6
    row_group_bytes: int = 128 * _MIB
    page_bytes: int = _MIB
    page_rows: int = 20_000
    dictionary_bytes: int = 2 * _MIB
    data_page_version: str = "1.0"
    #: Dotted paths of the columns that are written with a dictionary.
    dictionary_columns: tuple[str, ...] = field(default=())

    def arrow_options(self) -> dict[str, Any]:
        """Arguments of pyarrow's ParquetWriter, Iceberg's physical types among them."""
        codec = "none" if self.compression == "uncompressed" else self.compression
        return {
            "compression": codec,
            "compression_level": self.compression_level,
            "use_dictionary": list(self.dictionary_columns),
            "data_page_size": self.page_bytes,
            "max_rows_per_page": self.page_rows,
            "dictionary_pagesize_limit": self.dictionary_bytes,
            "data_page_version": self.data_page_version,
            "store_decimal_as_integer": True,
            "use_compliant_nested_type": True,
            "write_page_index": True,
            # Readers take the schema from Parquet and from `iceberg.schema`.
            "store_schema": False,
        }


def dictionaries_of(metadata: Any) -> dict[int, bool]:
    """By field id whether all chunks of a column have a dictionary, of a footer as pyarrow has it.

    A writer that found no use for one has left it out, and it would be none for us either.
    """
    leaves = _leaf_ids(list(metadata.schema.to_arrow_schema()))
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    return {
        leaf: all(group.column(position).has_dictionary_page for group in groups)
        for position, leaf in enumerate(leaves)
        if leaf is not None
    }


def dictionary_columns(schema: Schema, inputs: Iterable[Mapping[int, bool]]) -> tuple[str, ...]:
    """The paths of those columns that have a dictionary in every input that has them."""
    had: dict[int, bool] = {}
    for each in inputs:
        for leaf, has in each.items():
            had[leaf] = had.get(leaf, True) and has
    paths = leaf_paths(schema)
    return tuple(sorted(path for leaf, path in paths.items() if had.get(leaf)))


def leaf_paths(schema: Schema) -> dict[int, str]:
    """Where Parquet keeps the values of each column, groups of lists and maps included."""
    between = {LIST: ("list",), MAP: ("key_value",)}
    found = {}
    for ancestors, leaf in schema.walk():
        if not leaf.type.is_nested and leaf.type.name != UNKNOWN:
            steps = [(each.name, *between.get(each.type.name, ())) for each in ancestors]
            found[leaf.id] = ".".join(part for step in (*steps, (leaf.name,)) for part in step)
    return found


def _leaf_ids(fields: Sequence[Any]) -> list[int | None]:
    found: list[int | None] = []
    for each in fields:
        inside = children(each.type)
        found += _leaf_ids(inside) if inside else [field_id(each)]
    return found


def writer_options(
    properties: Mapping[str, str], dictionary_columns: Iterable[str] = ()
) -> WriterOptions:
    """The options of a table; what pyarrow cannot do is refused."""
    if any(
        key.startswith("write.parquet.bloom-filter-enabled.") and value.lower() == "true"
        for key, value in properties.items()
    ):
        raise RowsUnsupported("The table wants Bloom filters, which are not written natively.")
    codec = properties.get("write.parquet.compression-codec", _DEFAULT_CODEC).lower()
    codec = "uncompressed" if codec in ("none", "uncompressed") else codec
    if codec not in _CODECS:
        raise RowsUnsupported(f"Files are not compressed by {codec!r} natively.")
    return WriterOptions(
        codec,
        _level(codec, properties.get("write.parquet.compression-level")),
        _property(properties, "write.parquet.row-group-size-bytes", 128 * _MIB),
        _property(properties, "write.parquet.page-size-bytes", _MIB),
        _property(properties, "write.parquet.page-row-limit", 20_000),
        _property(properties, "write.parquet.dict-size-bytes", 2 * _MIB),
        _page_version(properties),
        tuple(sorted(set(dictionary_columns))),
    )


def _level(codec: str, asked: str | None) -> int | None:
    if asked and codec in _LEVELLED:
        return _number("write.parquet.compression-level", asked)
    return _USUAL_LEVELS.get(codec)


def rows_per_row_group(options: WriterOptions, total_bytes: int, rows: int) -> int:
    """How many rows make a row group of the wanted bytes; `total_bytes` is their size in files.

    Iceberg measures what it buffers, compressed or not; inputs tell their compressed size.
    """
    if rows <= 0 or total_bytes <= 0:
        return _MAX_ROWS
    return max(_MIN_ROWS, min(_MAX_ROWS, options.row_group_bytes * rows // total_bytes))


def _page_version(properties: Mapping[str, str]) -> str:
    asked = properties.get("write.parquet.page-version", "v1").lower()
    if asked not in ("v1", "v2"):
        raise RowsUnsupported(f"There are no data pages of version {asked!r}.")
    return "2.0" if asked == "v2" else "1.0"


def _property(properties: Mapping[str, str], key: str, default: int) -> int:
    found = _number(key, properties.get(key, str(default)))
    if found <= 0:
        raise RowsUnsupported(f"The table property {key} is not above zero: {found}.")
    return found


def _number(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise RowsUnsupported(f"The table property {key} is no number: {text!r}.") from None

"""What a task sees when it opens one file: is it what its manifest says?"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from neve.model.errors import ParquetCorrupt, ParquetError, ParquetUnsupported
from neve.model.integrity import ENCRYPTED, FileClaim, FileKind, FooterProblem, KnownColumns
from neve.parquet.footer import Footer, read_footer
from neve.storage.access import Storage, local_path
from neve.storage.readers import LocalReader, Reader

#: Ids from here on are Iceberg's own columns, such as row ids and paths in delete files.
FIRST_RESERVED_FIELD_ID = 2_147_483_447
#: One store under three names, of which Hadoop's two are old ones.
S3_SCHEMES = ("s3", "s3a", "s3n")
OPENED_FORMATS = frozenset(("PARQUET", "PUFFIN"))
VECTOR_MAGIC = bytes.fromhex("d1d33964")
#: A vector for two thousand million rows that all are deleted.
MAX_VECTOR_BYTES = 256 * 1024 * 1024
NOT_FOUND = frozenset(("NoSuchKey", "NotFound", "404"))


class Unopened(Exception):
    """The file was not judged; the message says why."""


def look(claim: FileClaim, columns: KnownColumns, storage: Storage) -> list[FooterProblem]:
    """All that is wrong with the file."""
    try:
        with opened(claim.path, storage) as reader:
            wrong = list(_compare(claim, reader, columns))
    except ParquetUnsupported as error:
        raise Unopened(_without_path(error, claim.path)) from error
    except ParquetError as error:
        if _is_missing(error):
            return [FooterProblem("missing", claim.path, "it is not in storage")]
        why = _without_path(error, claim.path)
        return [FooterProblem("storage_unanswered", claim.path, why)]
    if not wrong and claim.format not in OPENED_FORMATS:
        raise Unopened(f"of files in the format {claim.format} only existence and size are checked")
    return [FooterProblem(code, claim.path, why) for code, why in wrong]


@contextmanager
def opened(path: str, storage: Storage) -> Iterator[Reader]:
    scheme, colon, _ = path.partition(":")
    if not colon or scheme == "file":
        local = local_path(path)
        _require_file(local)
        with LocalReader(local) as reader:
            yield reader
    elif scheme in S3_SCHEMES:
        from neve.storage.s3 import S3Reader, S3Store

        if storage.refusal:
            raise Unopened(storage.refusal)
        yield S3Reader(S3Store(storage.s3_client()), f"s3{path[len(scheme) :]}")
    else:
        raise Unopened(f"files in {scheme}: are not opened")


def _require_file(path: str) -> None:
    """A pipe of that name would be waited for, for ever."""
    try:
        is_file = stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        # Opening it says what is wrong.
        return
    except ValueError as error:
        raise ParquetError("its path is no path") from error
    if not is_file:
        raise ParquetError("it is not a file")


def _is_missing(error: ParquetError) -> bool:
    return isinstance(error.__cause__, FileNotFoundError) or getattr(error, "code", "") in NOT_FOUND


def _compare(claim: FileClaim, reader: Reader, columns: KnownColumns) -> Iterator[tuple[str, str]]:
    if reader.size_bytes != claim.size_bytes and claim.format != ENCRYPTED:
        yield (
            "size_differs",
            f"{reader.size_bytes} bytes in storage, {claim.size_bytes} in the manifest",
        )
    if claim.format == "PUFFIN":
        if why := _vector_trouble(claim, reader):
            yield "vector_unreadable", why
    elif claim.format == "PARQUET":
        try:
            footer = read_footer(reader)
        except ParquetCorrupt as error:
            yield "footer_unreadable", _without_path(error, reader.path)
        else:
            yield from _compare_footer(claim, footer, columns)


def _compare_footer(
    claim: FileClaim, footer: Footer, columns: KnownColumns
) -> Iterator[tuple[str, str]]:
    if footer.rows != claim.record_count:
        yield (
            "record_count_differs",
            f"{footer.rows} rows in the file, {claim.record_count} in the manifest",
        )
    if claim.kind is FileKind.DATA and footer.schema.without_field_id:
        if not columns.has_name_mapping:
            yield "field_ids_missing", f"column {footer.schema.without_field_id[0]}"
        return
    unknown = [
        leaf
        for leaf in footer.schema.leaves
        if leaf.field_id is not None
        and leaf.field_id < FIRST_RESERVED_FIELD_ID
        and leaf.field_id not in columns.field_ids
    ]
    if unknown:
        yield "field_ids_unknown", f"column {'.'.join(unknown[0].path)}, id {unknown[0].field_id}"


def _vector_trouble(claim: FileClaim, reader: Reader) -> str | None:
    """A vector is its length, a magic number, positions, and a checksum of the last two."""
    offset, length = claim.content_offset, claim.content_bytes
    if offset is None or length is None:
        return "its manifest does not say where it lies"
    if offset < 0 or not 12 <= length <= reader.size_bytes - offset:
        return f"{length} bytes at {offset} are not in a file of {reader.size_bytes} bytes"
    if length > MAX_VECTOR_BYTES:
        raise Unopened(f"deletion vectors over {MAX_VECTOR_BYTES} bytes are not read")
    data = reader.read_at(offset, length)
    if int.from_bytes(data[:4], "big") != length - 8 or data[4:8] != VECTOR_MAGIC:
        return f"there is no deletion vector at {offset}"
    if zlib.crc32(data[4:-4]) != int.from_bytes(data[-4:], "big"):
        return f"the checksum of the deletion vector at {offset} is wrong"
    return None


def _without_path(error: ParquetError, path: str) -> str:
    """Reasons are counted, so they must not name the file."""
    text = error.message
    for name in (path, local_path(path)):
        text = text.removeprefix(f"{name}: ")
    return text.rstrip(".")

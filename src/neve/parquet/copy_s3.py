"""Carry out a splice inside an S3-compatible store: the store copies, we send the rest.

The new object appears when its upload is completed, whole or not at all; a failed upload is
aborted, and its parts with it.

What is proven when a splice succeeds:

- The store was told to copy only from objects with the ETags under which their footers were read.
- Parts that we sent arrived: the store checked their MD5, and answered with the same one.
- The object is made of exactly these parts in this order: its ETag is the MD5 of the parts' MD5s.
- It has the planned size, begins as a Parquet file does, and has the planned footer.
- The last bytes of up to eight copied parts are where they should be, and as in their sources.

What is not proven is that the store copied every byte without error: that is left to the store,
which gives a digest of what it wrote, but none of the range that it read. `verify="checksum"`
proves it, by reading both sides. The same is done unasked where a store's ETags are no digests,
unless it says that it encrypts with keys of one's own (SSE-KMS, SSE-C): there ETags are opaque by
design, and an object that has the ETag which the completion answered is taken to be ours.

No CRC is asked for. A store that is not asked computes its own over the finished object; one that
is asked may answer for a copied range with the CRC of its whole source (versitygw 1.8 does) and
would keep a false checksum with a sound object.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final

from neve.model.errors import ParquetCorrupt
from neve.parquet.outcome import SpliceResult, Verify, check_output, checksum_of
from neve.parquet.plan import CopyRange, Encoded, Part, SplicePlan
from neve.parquet.remote import CopyPart, GatherPart, UploadPlan, plan_through_client
from neve.storage.s3 import TAIL_BYTES, S3Reader, S3Refused, S3Store, SentPart
from neve.storage.s3_upload import (
    READ_BACK,
    Replaced,
    Uploaded,
    clean_up,
    refuse_existing,
    upload_parts,
)

_COPIES_AT_ONCE: Final = 8
_READS_AT_ONCE: Final = 8
#: A gathered part has less than 10 MiB, and its pieces as much again until they are joined.
_GATHERED_AT_ONCE: Final = 3
#: Enough to notice a store that copies other ranges than it is asked to.
_SPOTS: Final = 8
_SPOT_BYTES: Final = 4096

NO_COPIES: Final = "The store does not copy ranges, so all bytes went through the task."


@dataclass(frozen=True, slots=True)
class RemoteSplice:
    """A finished object, and how it was made."""

    result: SpliceResult
    #: The upload that was carried out; not the one asked for where the store does not copy.
    upload: UploadPlan
    notes: tuple[str, ...]
    was_read_back: bool


@dataclass(frozen=True, slots=True)
class _Work:
    """What an upload needs to know besides its parts."""

    plan: SplicePlan
    store: S3Store
    target: str
    readers: Sequence[S3Reader]
    options: Mapping[str, str] = field(repr=False)
    verify: Verify


class _NoCopies(Exception):
    """The store does not copy ranges."""


def splice_in_s3(
    plan: SplicePlan,
    upload: UploadPlan,
    store: S3Store,
    target: str,
    readers: Sequence[S3Reader],
    *,
    options: Mapping[str, str] | None = None,
    verify: Verify = "size",
) -> RemoteSplice:
    """Make the planned object; `readers` are the plan's sources as they were read for the plan.

    The result's checksum is the CRC-32 of the parts' ETags where those are the proof (see above),
    and that of all bytes of data where they were read back. An existing object is never replaced.
    `options` go with the new object: encryption, storage class, tags.
    """
    work = _Work(plan, store, target, readers, options or {}, verify)
    refuse_existing(store, target)
    try:
        return _splice(work, upload)
    except _NoCopies:
        done = _splice(work, plan_through_client(plan))
        return replace(done, notes=(NO_COPIES, *done.notes))


def _splice(work: _Work, upload: UploadPlan) -> RemoteSplice:
    store, target = work.store, work.target
    uploaded = upload_parts(
        store, target, work.options, lambda upload_id: _send(work, upload, upload_id)
    )
    try:
        result, was_read_back = _check(work, upload, uploaded)
    except Replaced:
        raise
    except BaseException as error:
        # The completion was ours, so the object is, and nobody knows of it yet.
        clean_up(error, lambda: store.delete(target), "The object was not deleted.")
        raise
    notes = uploaded.notes + ((READ_BACK,) if was_read_back and work.verify == "size" else ())
    return RemoteSplice(result, upload, notes, was_read_back)


def _send(work: _Work, upload: UploadPlan, upload_id: str) -> list[SentPart]:
    """All parts, several at once; when one fails, no other is begun."""
    with (
        ThreadPoolExecutor(_READS_AT_ONCE, "splice-read") as reads,
        ThreadPoolExecutor(_GATHERED_AT_ONCE, "splice-send") as gathered,
        ThreadPoolExecutor(_COPIES_AT_ONCE, "splice-copy") as copies,
    ):
        sent: list[Future[SentPart]] = []
        try:
            for number, part in enumerate(upload.parts, 1):
                if isinstance(part, CopyPart):
                    sent.append(copies.submit(_copy, work, upload_id, number, part))
                else:
                    sent.append(gathered.submit(_gather, work, upload_id, number, part, reads))
            wait(sent, return_when=FIRST_EXCEPTION)
        finally:
            for future in sent:
                future.cancel()
    for future in sent:
        if not future.cancelled():
            future.result()
    return [future.result() for future in sent]


def _copy(work: _Work, upload_id: str, number: int, part: CopyPart) -> SentPart:
    source = work.readers[part.source]
    span = f"bytes={part.offset}-{part.offset + part.length - 1}"
    try:
        return work.store.copy_part(work.target, upload_id, number, source.path, span, source.etag)
    except S3Refused as error:
        if error.is_not_offered:
            raise _NoCopies from error
        raise


def _gather(
    work: _Work, upload_id: str, number: int, part: GatherPart, reads: ThreadPoolExecutor
) -> SentPart:
    def read(piece: Part) -> bytes:
        if isinstance(piece, CopyRange):
            return work.readers[piece.source].read_at(piece.offset, piece.length)
        return piece.data

    data = b"".join(reads.map(read, part.pieces))
    return work.store.send_part(work.target, upload_id, number, data)


def _check(work: _Work, upload: UploadPlan, uploaded: Uploaded) -> tuple[SpliceResult, bool]:
    """Hold the object against its plan; answers also whether its bytes were read back."""
    plan = work.plan
    # The footer is read in one request, also where it is longer than most.
    tail_bytes = max(TAIL_BYTES, len(plan.footer))
    reader = S3Reader(work.store, work.target, tail_bytes=tail_bytes)
    uploaded.check_in_place(reader.etag)
    if not uploaded.is_proven_by(reader.etag) or work.verify == "checksum":
        return check_output(plan, reader, _data_checksum(work)), True
    result = check_output(plan, reader)
    _check_spots(work, upload, reader)
    etags = ",".join(part.etag for part in uploaded.parts)
    return replace(result, checksum=zlib.crc32(etags.encode())), False


def _check_spots(work: _Work, upload: UploadPlan, reader: S3Reader) -> None:
    """Compare the ends of some copied parts; those of the sources are mostly at hand."""
    ends = accumulate(part.length for part in upload.parts)
    copied = [
        (part, end)
        for part, end in zip(upload.parts, ends, strict=True)
        if isinstance(part, CopyPart)
    ]

    def is_same(spot: tuple[CopyPart, int]) -> bool:
        part, end = spot
        length = min(_SPOT_BYTES, part.length)
        source_end = part.offset + part.length
        expected = work.readers[part.source].read_at(source_end - length, length)
        return reader.read_at(end - length, length) == expected

    with ThreadPoolExecutor(_READS_AT_ONCE, "splice-check") as pool:
        if not all(pool.map(is_same, copied[:: -(-len(copied) // _SPOTS) or 1])):
            raise ParquetCorrupt(f"{work.target} was written with other bytes than its sources.")


def _data_checksum(work: _Work) -> int:
    checksum = 0
    for part in work.plan.parts:
        if isinstance(part, CopyRange):
            source = work.readers[part.source]
            checksum = checksum_of(source, part.offset, part.length, checksum)
        elif isinstance(part, Encoded):
            checksum = zlib.crc32(part.data, checksum)
    return checksum

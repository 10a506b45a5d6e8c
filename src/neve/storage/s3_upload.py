"""One new object of an S3-compatible store out of parts: whole or not at all, and never twice.

The object appears when its upload is completed; a failed upload is aborted, and its parts with it.
An existing object is never replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from neve.model.errors import ParquetCorrupt, ParquetError
from neve.storage.readers import LocalReader, pieces_of
from neve.storage.s3 import S3Reader, S3Refused, S3Store, SentPart, combined_etag, is_digest

NO_CONDITION: Final = (
    "The store cannot refuse an existing name at the end of an upload; it was looked up before."
)
READ_BACK: Final = "ETags of this store are no digests, so all bytes were read back."
#: All parts but the last need 5 MiB, and a store takes ten thousand of them.
PART_BYTES: Final = 16 * 1024 * 1024
_MAX_PARTS: Final = 10_000
_PARTS_AT_ONCE: Final = 3


class Replaced(ParquetError):
    """Another object took the place of ours."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A completed upload."""

    target: str
    parts: Sequence[SentPart]
    #: The object's ETag, if the store said it.
    etag: str | None
    notes: tuple[str, ...]

    def is_proven_by(self, found: str) -> bool:
        """Whether an object with this ETag is surely made of these parts.

        Under keys of one's own ETags are opaque by design; there an object that has the ETag which
        the completion answered is taken to be ours.
        """
        return is_made_of(found, [part.etag for part in self.parts]) or (
            self.etag is not None and all(part.has_own_key for part in self.parts)
        )

    def check_in_place(self, found: str) -> None:
        """Raise where another object has the name by now."""
        if self.etag not in (None, found):
            raise Replaced(f"{self.target} was replaced by another object.")


def upload_parts(
    store: S3Store,
    target: str,
    options: Mapping[str, str],
    send: Callable[[str], Sequence[SentPart]],
) -> Uploaded:
    """Let `send` send the parts of an upload that it is told the id of, and complete it."""
    upload_id = store.begin(target, options)
    try:
        parts = send(upload_id)
        etag, notes = _complete(store, target, upload_id, [part.etag for part in parts])
    except BaseException as error:
        clean_up(error, lambda: store.abort(target, upload_id), "The upload was not aborted.")
        raise
    return Uploaded(target, parts, etag, notes)


def send_file(
    store: S3Store, reader: LocalReader, target: str, options: Mapping[str, str]
) -> tuple[str, ...]:
    """Send a file of this machine, and make sure that the object is it; answers notes.

    Every part is sent with its digest, and the object's ETag must be that of all of them. Where
    ETags are no digests, the whole object is read back.
    """
    refuse_existing(store, target)
    uploaded = upload_parts(
        store, target, options, lambda upload_id: _send_file(store, reader, target, upload_id)
    )
    try:
        found = S3Reader(store, target)
        uploaded.check_in_place(found.etag)
        if found.size_bytes != reader.size_bytes:
            raise _other_bytes(target)
        if uploaded.is_proven_by(found.etag):
            return uploaded.notes
        compare_files(reader, found)
    except Replaced:
        raise
    except BaseException as error:
        # The completion was ours, so the object is, and nobody knows of it yet.
        clean_up(error, lambda: store.delete(target), "The object was not deleted.")
        raise
    return (*uploaded.notes, READ_BACK)


def compare_files(ours: LocalReader, theirs: S3Reader) -> None:
    """Hold every byte of an object against a file of the same size."""
    pairs = zip(pieces_of(ours), pieces_of(theirs), strict=True)
    if any(sent != found for sent, found in pairs):
        raise _other_bytes(theirs.path)


def refuse_existing(store: S3Store, target: str) -> None:
    """Raise where the name is taken."""
    if store.exists(target):
        raise _exists(target)


def is_made_of(etag: str, parts: Sequence[str]) -> bool:
    """Whether an object's ETag says that it is made of the parts with these ETags."""
    return all(map(is_digest, parts)) and etag == combined_etag(parts)


def clean_up(error: BaseException, undo: Callable[[], None], failing: str) -> None:
    """Undo what was begun; where that fails as well, the error that counts is the first one."""
    try:
        undo()
    except ParquetError as second:
        error.add_note(f"{failing} {second.message}")


def _send_file(store: S3Store, reader: LocalReader, target: str, upload_id: str) -> list[SentPart]:
    part_bytes = max(PART_BYTES, -(-reader.size_bytes // _MAX_PARTS))

    def send(numbered: tuple[int, int]) -> SentPart:
        number, offset = numbered
        data = reader.read_at(offset, min(part_bytes, reader.size_bytes - offset))
        return store.send_part(target, upload_id, number, data)

    with ThreadPoolExecutor(_PARTS_AT_ONCE, "send-file") as pool:
        return list(pool.map(send, enumerate(range(0, reader.size_bytes, part_bytes), 1)))


def _complete(
    store: S3Store, target: str, upload_id: str, etags: Sequence[str]
) -> tuple[str | None, tuple[str, ...]]:
    """Make the object visible unless its name is taken; answers its ETag, and notes."""
    try:
        return store.complete(target, upload_id, etags, only_new=True), ()
    except S3Refused as error:
        if not error.is_not_offered:
            return _complete_after(store, target, error, etags), ()
    if store.exists(target) is not False:
        raise _exists(target)
    try:
        etag = store.complete(target, upload_id, etags, only_new=False)
    except S3Refused as error:
        etag = _complete_after(store, target, error, etags)
    return etag, (NO_CONDITION,)


def _complete_after(store: S3Store, target: str, error: S3Refused, etags: Sequence[str]) -> str:
    """The ETag, if the upload was completed and only the answer was lost.

    Clients repeat a request whose answer is lost, and the repeated one finds the name taken or
    the upload gone. An object with just these parts is ours.
    """
    try:
        found = store.etag_of(target)
    except S3Refused as second:
        error.add_note(second.message)
        raise error from error.__cause__
    if found is not None and is_made_of(found, etags):
        return found
    if found is not None and error.is_precondition:
        raise _exists(target) from error
    raise error


def _exists(target: str) -> ParquetError:
    return ParquetError(f"{target} exists already and is not replaced.")


def _other_bytes(target: str) -> ParquetCorrupt:
    return ParquetCorrupt(f"{target} was written with other bytes than were sent.")

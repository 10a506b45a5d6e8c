"""An S3-compatible store: the few requests that a splice makes, counted, with typed errors."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from neve.model.errors import ParquetCorrupt, ParquetError, ParquetUnsupported
from neve.retries import RetryPolicy, retrying
from neve.storage.readers import FIRST_READ_BYTES, whole

#: What stores say of a request that they do not offer.
_NOT_OFFERED: Final = frozenset(("NotImplemented", "MethodNotAllowed", "501", "405"))
_NOT_FOUND: Final = frozenset(("NoSuchKey", "NotFound", "404"))
_FORBIDDEN: Final = frozenset(("AccessDenied", "Forbidden", "403"))
_CHANGED: Final = frozenset(("PreconditionFailed", "412"))
_EMPTY: Final = frozenset(("InvalidRange", "416"))
#: The client repeats requests itself, but not those whose answer breaks off in the middle.
_READING: Final = RetryPolicy(attempts=3)

TAIL_BYTES: Final = FIRST_READ_BYTES


class S3Refused(ParquetError):
    """The store refused a request, or did not answer it."""

    def __init__(self, message: str, code: str, status: int) -> None:
        super().__init__(message, next_step="Check the store and that the credentials reach it.")
        self.code = code
        self.status = status

    @property
    def is_not_offered(self) -> bool:
        """Whether the store does not know such requests at all."""
        return self.code in _NOT_OFFERED or self.status in (405, 501)

    @property
    def is_precondition(self) -> bool:
        """Whether a condition of the request does not hold."""
        return self.code in _CHANGED or self.status == 412


@dataclass(slots=True)
class Counts:
    """What the store was asked, repeated requests included."""

    gets: int = 0
    heads: int = 0
    copies: int = 0
    puts: int = 0
    posts: int = 0
    deletes: int = 0
    bytes_read: int = 0
    bytes_sent: int = 0

    @property
    def requests(self) -> int:
        """All of them."""
        return self.gets + self.heads + self.copies + self.puts + self.posts + self.deletes


@dataclass(frozen=True, slots=True)
class Fetched:
    """A range of an object, and what the answer says about the whole."""

    data: bytes
    size_bytes: int
    etag: str
    #: The MD5 of the whole object, where the ETag is one.
    md5: str | None = None


@dataclass(frozen=True, slots=True)
class SentPart:
    """A part that the store has taken."""

    etag: str
    #: Under encryption with keys of one's own an ETag is no digest of the bytes.
    has_own_key: bool


class S3Store:
    """Requests to a store through a boto3 client; several threads may make them."""

    def __init__(self, client: Any) -> None:
        self.counts = Counts()
        self._client = client
        self._lock = threading.Lock()

    def etag_of(self, path: str) -> str | None:
        """The ETag of an object, or None if there is no such object."""
        try:
            return _unquoted(self._ask("heads", "head_object", path)["ETag"])
        except S3Refused as error:
            if error.code in _NOT_FOUND:
                return None
            raise

    def exists(self, path: str) -> bool | None:
        """Whether there is such an object; None if the store does not tell us."""
        try:
            return self.etag_of(path) is not None
        except S3Refused as error:
            if error.code in _FORBIDDEN:
                return None
            raise

    def fetch(self, path: str, span: str, etag: str | None = None) -> Fetched:
        """A range in the words of HTTP; with an ETag, only of that very object."""
        condition = {} if etag is None else {"IfMatch": f'"{etag}"'}

        def read() -> Fetched:
            answer = self._ask("gets", "get_object", path, Range=span, **condition)
            return self._read(path, answer, etag)

        try:
            return retrying(read, on=_broke_off, policy=_READING)
        except S3Refused as error:
            if error.is_precondition:
                raise _changed(path) from error
            raise
        except (BotoCoreError, EOFError) as error:
            what = f"{path} cannot be read: the answers broke off."
            raise S3Refused(what, "", 0) from error

    def _read(self, path: str, answer: Mapping[str, Any], etag: str | None) -> Fetched:
        length = int(answer["ContentLength"])
        unit, _, size = str(answer.get("ContentRange", "")).rpartition("/")
        if not unit and length:
            raise ParquetError(f"{path} cannot be read: the store does not hand out ranges.")
        if etag is not None and _unquoted(answer["ETag"]) != etag:
            raise _changed(path)
        # As its own context it hands out what is below it, whose errors are not the client's.
        with closing(answer["Body"]) as body:
            data: bytes = body.read()
        with self._lock:
            self.counts.bytes_read += len(data)
        if len(data) != length:
            raise EOFError(f"{len(data)} of {length} bytes")
        found = _unquoted(answer["ETag"])
        md5 = found if is_digest(found) and not _has_own_key(answer) else None
        return Fetched(data, int(size or 0), found, md5)

    def pieces(self, path: str, piece_bytes: int) -> Iterator[bytes]:
        """A whole object, from its first byte to its last; a small one by one request.

        The bytes are held against the ETag where that is their digest, after the last piece.
        """
        try:
            first = self.fetch(path, f"bytes=0-{piece_bytes - 1}")
        except S3Refused as error:
            if error.code in _EMPTY:
                return
            raise
        size = first.size_bytes
        digest = hashlib.md5(first.data, usedforsecurity=False)
        yield whole(first.data, path, 0, min(piece_bytes, size))
        for offset in range(piece_bytes, size, piece_bytes):
            length = min(piece_bytes, size - offset)
            span = f"bytes={offset}-{offset + length - 1}"
            piece = whole(self.fetch(path, span, first.etag).data, path, offset, length)
            digest.update(piece)
            yield piece
        if first.md5 not in (None, digest.hexdigest()):
            raise ParquetCorrupt(f"{path} came with other bytes than its ETag is the digest of.")

    def begin(self, path: str, options: Mapping[str, str]) -> str:
        """Begin an upload. It is invisible until it is completed."""
        return str(self._ask("posts", "create_multipart_upload", path, **options)["UploadId"])

    def copy_part(
        self, path: str, upload_id: str, number: int, source: str, span: str, etag: str
    ) -> SentPart:
        """Let the store copy a range of an object that is still the one with this ETag."""
        bucket, key = split_location(source)
        try:
            answer = self._ask(
                "copies",
                "upload_part_copy",
                path,
                UploadId=upload_id,
                PartNumber=number,
                CopySource={"Bucket": bucket, "Key": key},
                CopySourceRange=span,
                CopySourceIfMatch=f'"{etag}"',
            )
        except S3Refused as error:
            if error.is_precondition:
                raise _changed(source) from error
            raise
        return SentPart(_unquoted(answer["CopyPartResult"]["ETag"]), _has_own_key(answer))

    def send_part(self, path: str, upload_id: str, number: int, data: bytes) -> SentPart:
        """Send bytes; the store is told their digest, and its own is compared."""
        digest = hashlib.md5(data, usedforsecurity=False)
        answer = self._ask(
            "puts",
            "upload_part",
            path,
            UploadId=upload_id,
            PartNumber=number,
            Body=data,
            ContentMD5=base64.b64encode(digest.digest()).decode(),
        )
        with self._lock:
            self.counts.bytes_sent += len(data)
        part = SentPart(_unquoted(answer["ETag"]), _has_own_key(answer))
        if is_digest(part.etag) and not part.has_own_key and part.etag != digest.hexdigest():
            raise ParquetError(f"{path}: the store has other bytes than were sent to it.")
        return part

    def complete(
        self, path: str, upload_id: str, etags: Sequence[str], *, only_new: bool
    ) -> str | None:
        """Make the object visible; answers its ETag, if the store says it."""
        parts = [
            {"PartNumber": number, "ETag": f'"{etag}"'} for number, etag in enumerate(etags, 1)
        ]
        condition = {"IfNoneMatch": "*"} if only_new else {}
        answer = self._ask(
            "posts",
            "complete_multipart_upload",
            path,
            UploadId=upload_id,
            MultipartUpload={"Parts": parts},
            **condition,
        )
        return _unquoted(answer["ETag"]) if answer.get("ETag") else None

    def abort(self, path: str, upload_id: str) -> None:
        """Drop an upload with all its parts."""
        self._ask("deletes", "abort_multipart_upload", path, UploadId=upload_id)

    def delete(self, path: str) -> None:
        """Delete an object."""
        self._ask("deletes", "delete_object", path)

    def _ask(self, kind: str, operation: str, path: str, **parameters: Any) -> dict[str, Any]:
        bucket, key = split_location(path)
        requests = 1
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(
                Bucket=bucket, Key=key, **parameters
            )
            requests += int(answer.get("ResponseMetadata", {}).get("RetryAttempts", 0))
            return answer
        except ClientError as error:
            raise _refused(path, operation, error) from error
        except BotoCoreError as error:
            # Its message may quote addresses and settings; its name says enough.
            what = f"{path}: {operation} got no answer ({type(error).__name__})."
            raise S3Refused(what, "", 0) from error
        finally:
            with self._lock:
                setattr(self.counts, kind, getattr(self.counts, kind) + requests)


class S3Reader:
    """An object in a store. Its end is read when it is opened, because readers begin there.

    All reads are of the object that was opened: a change in between is an error.
    """

    def __init__(self, store: S3Store, path: str, *, tail_bytes: int = TAIL_BYTES) -> None:
        self.path = path
        self._store = store
        try:
            opened = store.fetch(path, f"bytes=-{tail_bytes}")
        except S3Refused as error:
            if error.code not in _EMPTY:
                raise
            opened = Fetched(b"", 0, "")
        self.size_bytes = opened.size_bytes
        self.etag = opened.etag
        self._tail = opened.data

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly `length` bytes from `offset`, or an error."""
        if offset + length > self.size_bytes:
            return whole(b"", self.path, offset, length)
        tail = self._tail
        in_tail = offset - (self.size_bytes - len(tail))
        if in_tail >= 0:
            return tail[in_tail : in_tail + length]
        if not length:
            return b""
        span = f"bytes={offset}-{offset + length - 1}"
        return whole(self._store.fetch(self.path, span, self.etag).data, self.path, offset, length)

    def forget_tail(self) -> None:
        """Give the memory back; the end is read again if it is asked for."""
        self._tail = b""


def split_location(location: str) -> tuple[str, str]:
    """Bucket and key; Iceberg does not encode its locations, so nothing is decoded."""
    bucket, _, key = location.removeprefix("s3://").partition("/")
    if not location.startswith("s3://") or not bucket or not key:
        raise ParquetUnsupported(f"{location} is not an object of the form s3://bucket/key.")
    return bucket, key


def is_digest(etag: str) -> bool:
    """Whether an ETag has the form of an MD5."""
    return len(etag) == 32 and all(character in "0123456789abcdef" for character in etag)


def combined_etag(etags: Sequence[str]) -> str:
    """The ETag of an object whose parts have these, as S3 defines it."""
    digests = b"".join(bytes.fromhex(etag) for etag in etags)
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(etags)}"


def _unquoted(etag: str) -> str:
    # Requests carry the quotes, and some stores leave them out of their answers.
    return etag.strip('"')


def _has_own_key(answer: Mapping[str, Any]) -> bool:
    return "SSECustomerAlgorithm" in answer or str(
        answer.get("ServerSideEncryption", "")
    ).startswith("aws:kms")


def _broke_off(error: Exception) -> bool:
    return isinstance(error, (BotoCoreError, EOFError))


def _changed(path: str) -> ParquetError:
    return ParquetError(f"{path} changed while it was being copied.", next_step="Plan again.")


def _refused(path: str, operation: str, error: ClientError) -> S3Refused:
    code = str(error.response.get("Error", {}).get("Code", ""))
    status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    return S3Refused(f"{path}: the store answered {operation} with {code}.", code, status)

"""An S3 store in memory that is stricter than a real one, and fails on demand.

It speaks as a boto3 client does. A test makes it fail by putting an error, a change of the answer
or a side effect before or after one of its calls; see `FakeS3.inject`.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError
from botocore.response import StreamingBody

Answer = dict[str, Any]


def error(code: str, status: int, operation: str = "Operation") -> ClientError:
    """What boto3 raises when a store says no."""
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, operation)


@dataclass
class Upload:
    """An upload under way."""

    key: str
    options: Answer
    parts: dict[int, bytes] = field(default_factory=dict)


class FakeS3:
    """One bucket, `b`."""

    def __init__(self, *, min_part_bytes: int = 1_000, kms: bool = False) -> None:
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.uploads: dict[str, Upload] = {}
        self.calls: list[tuple[str, Answer]] = []
        self.min_part_bytes = min_part_bytes
        self.kms = kms
        self.digest: Callable[[bytes], str] = lambda data: hashlib.md5(data).hexdigest()
        self.is_conditional = True
        self._lock = threading.RLock()
        self._before: dict[str, list[Callable[[Answer], None]]] = defaultdict(list)
        self._after: dict[str, list[Callable[[Answer], None]]] = defaultdict(list)
        self._begun = 0

    def inject(
        self,
        operation: str,
        failure: Exception | Callable[[Answer], None],
        *,
        after: bool = False,
        times: int = 1,
    ) -> None:
        """Raise, or act on the parameters (before) or on the answer (after), `times` times."""

        def fail(_: Answer) -> None:
            assert isinstance(failure, Exception)
            raise failure

        queue = (self._after if after else self._before)[operation]
        queue += [failure if callable(failure) else fail] * times

    def put(self, key: str, data: bytes) -> None:
        self.objects[key] = (data, self.digest(data))

    def data(self, key: str) -> bytes:
        return self.objects[key][0]

    def called(self, operation: str) -> list[Answer]:
        return [parameters for name, parameters in self.calls if name == operation]

    def __getattr__(self, operation: str) -> Callable[..., Answer]:
        act = getattr(type(self), f"_{operation}")

        def call(*, Bucket: str, **parameters: Any) -> Answer:
            assert Bucket == "b"
            with self._lock:
                self.calls.append((operation, parameters))
                if self._before[operation]:
                    self._before[operation].pop(0)(parameters)
                answer: Answer = act(self, **parameters)
                if self._after[operation]:
                    self._after[operation].pop(0)(answer)
                return answer

        return call

    def _found(self, key: str) -> tuple[bytes, str]:
        if key not in self.objects:
            raise error("NoSuchKey", 404)
        return self.objects[key]

    def _head_object(self, Key: str) -> Answer:
        if Key not in self.objects:
            raise error("404", 404)
        data, etag = self.objects[Key]
        return {"ETag": f'"{etag}"', "ContentLength": len(data)}

    def _get_object(self, Key: str, Range: str, IfMatch: str | None = None) -> Answer:
        data, etag = self._found(Key)
        if IfMatch not in (None, f'"{etag}"'):
            raise error("PreconditionFailed", 412)
        start, end = span(Range, len(data))
        body = data[start:end]
        return {
            "Body": StreamingBody(io.BytesIO(body), len(body)),
            "ContentLength": len(body),
            "ContentRange": f"bytes {start}-{end - 1}/{len(data)}",
            "ETag": f'"{etag}"',
        }

    def _create_multipart_upload(self, Key: str, **options: Any) -> Answer:
        self._begun += 1
        upload_id = f"upload-{self._begun}"
        self.uploads[upload_id] = Upload(Key, options)
        return {"UploadId": upload_id}

    def _upload(self, upload_id: str, key: str) -> Upload:
        upload = self.uploads.get(upload_id)
        if upload is None or upload.key != key:
            raise error("NoSuchUpload", 404)
        return upload

    def _upload_part_copy(
        self,
        Key: str,
        UploadId: str,
        PartNumber: int,
        CopySource: dict[str, str],
        CopySourceRange: str,
        CopySourceIfMatch: str,
    ) -> Answer:
        assert CopySource["Bucket"] == "b"
        data, etag = self._found(CopySource["Key"])
        if CopySourceIfMatch != f'"{etag}"':
            raise error("PreconditionFailed", 412)
        assert re.fullmatch(r"bytes=\d+-\d+", CopySourceRange)
        start, end = span(CopySourceRange, len(data))
        part = self._take(UploadId, Key, PartNumber, data[start:end])
        return {"CopyPartResult": {"ETag": part.pop("ETag")}, **part}

    def _upload_part(
        self, Key: str, UploadId: str, PartNumber: int, Body: bytes, ContentMD5: str
    ) -> Answer:
        if base64.b64encode(hashlib.md5(Body).digest()).decode() != ContentMD5:
            raise error("BadDigest", 400)
        return self._take(UploadId, Key, PartNumber, Body)

    def _take(self, upload_id: str, key: str, number: int, data: bytes) -> Answer:
        assert 1 <= number <= 10_000
        self._upload(upload_id, key).parts[number] = data
        encryption = {"ServerSideEncryption": "aws:kms"} if self.kms else {}
        return {"ETag": f'"{self.digest(data)}"', **encryption}

    def _complete_multipart_upload(
        self, Key: str, UploadId: str, MultipartUpload: Answer, IfNoneMatch: str | None = None
    ) -> Answer:
        if IfNoneMatch and not self.is_conditional:
            raise error("NotImplemented", 501)
        if IfNoneMatch and Key in self.objects:
            raise error("PreconditionFailed", 412)
        upload = self._upload(UploadId, Key)
        listed = MultipartUpload["Parts"]
        if [part["PartNumber"] for part in listed] != sorted(upload.parts):
            raise error("InvalidPartOrder", 400)
        datas = [upload.parts[part["PartNumber"]] for part in listed]
        if [part["ETag"] for part in listed] != [f'"{self.digest(data)}"' for data in datas]:
            raise error("InvalidPart", 400)
        if any(len(data) < self.min_part_bytes for data in datas[:-1]):
            raise error("EntityTooSmall", 400)
        etag = self._combined([self.digest(data) for data in datas])
        self.objects[Key] = (b"".join(datas), etag)
        del self.uploads[UploadId]
        return {"ETag": f'"{etag}"'}

    def _combined(self, etags: list[str]) -> str:
        try:
            digests = b"".join(map(bytes.fromhex, etags))
        except ValueError:
            return "opaque"
        return f"{hashlib.md5(digests).hexdigest()}-{len(etags)}"

    def _abort_multipart_upload(self, Key: str, UploadId: str) -> Answer:
        self._upload(UploadId, Key)
        del self.uploads[UploadId]
        return {}

    def _delete_object(self, Key: str) -> Answer:
        self.objects.pop(Key, None)
        return {}


def span(header: str, size: int) -> tuple[int, int]:
    """First byte and end of a range as HTTP writes it."""
    if suffix := re.fullmatch(r"bytes=-(\d+)", header):
        start, end = max(0, size - int(suffix[1])), size
    elif whole := re.fullmatch(r"bytes=(\d+)-(\d+)", header):
        start, end = int(whole[1]), int(whole[2]) + 1
        if start == 0:
            # Whoever does not know the size yet asks for more than there is.
            end = min(end, size)
    else:
        raise AssertionError(f"no range that a store reads: {header}")
    if start >= size or end > size:
        raise error("InvalidRange", 416)
    return start, end

"""Prefixes of an S3-compatible store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from neve.model.errors import ExecutionError
from neve.model.orphans import ListedFile
from neve.storage.listing.folders import Folder

NOT_FOUND = frozenset(("NoSuchKey", "NotFound", "404"))


class S3Lister:
    """Lists a thousand keys a request."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def check_root(self, location: str) -> None:
        """A key is one name of one object: nothing can be behind it."""

    def folders(self, location: str) -> list[str]:
        bucket, key = _split(location)
        found = [
            prefix["Prefix"]
            for page in self._pages(bucket, _prefix(key), "/")
            for prefix in page.get("CommonPrefixes", ())
        ]
        return [f"{_store(location)}/{prefix[:-1]}" for prefix in found]

    def files(self, folder: Folder) -> Iterator[ListedFile]:
        bucket, key = _split(folder.location)
        for page in self._pages(bucket, _prefix(key), "" if folder.is_deep else "/"):
            for item in page.get("Contents", ()):
                yield _as_listed(f"{_store(folder.location)}/{item['Key']}", item, item["Size"])

    def look_up(self, path: str) -> ListedFile | None:
        bucket, key = _split(path)
        with _errors(path):
            try:
                found = self._client.head_object(Bucket=bucket, Key=key)
            except ClientError as error:
                if error.response.get("Error", {}).get("Code") in NOT_FOUND:
                    return None
                raise
        return _as_listed(path, found, found["ContentLength"])

    def _pages(self, bucket: str, prefix: str, delimiter: str) -> Iterator[dict[str, Any]]:
        with _errors(f"s3://{bucket}/{prefix}"):
            pages = self._client.get_paginator("list_objects_v2")
            yield from pages.paginate(Bucket=bucket, Prefix=prefix, Delimiter=delimiter)


def _as_listed(path: str, item: dict[str, Any], size_bytes: int) -> ListedFile:
    modified: datetime | None = item.get("LastModified")
    return ListedFile(
        path=path,
        size_bytes=size_bytes,
        # Whole seconds: answers about one object do not always tell more.
        modified_ms=int(modified.timestamp()) * 1000 if modified else None,
        etag=item["ETag"].strip('"') if item.get("ETag") else None,
        # A key that ends like a folder stands for one.
        is_regular=not path.endswith("/"),
    )


def _prefix(key: str) -> str:
    """What is below a folder; below a whole bucket, that is everything."""
    return f"{key}/" if key else ""


def _store(location: str) -> str:
    scheme, _, rest = location.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


def _split(location: str) -> tuple[str, str]:
    bucket, _, key = location.partition("://")[2].partition("/")
    return bucket, key


@contextmanager
def _errors(what: str) -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise ExecutionError(
            f"{what} cannot be listed: {error}.",
            next_step="Check the store and that the credentials reach it.",
        ) from error

"""How tasks reach files: a table's own FileIO settings, in a form that travels to executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

ARROW_PREFIXES = ("gcs.", "adls.", "hdfs.")
S3_KEYS = {
    "s3.endpoint": "endpoint_url",
    "s3.access-key-id": "aws_access_key_id",
    "s3.secret-access-key": "aws_secret_access_key",
    "s3.session-token": "aws_session_token",
    "client.region": "region_name",
    "s3.region": "region_name",
}


#: How Iceberg's FileIO writes objects, in the words of the client.
WRITE_KEYS = {"s3.acl": "ACL", "s3.write.storage-class": "StorageClass"}
TAG_PREFIX = "s3.write.tags."
ENCRYPTIONS = {"s3": "AES256", "kms": "aws:kms", "dsse-kms": "aws:kms:dsse"}


@dataclass(frozen=True, slots=True)
class Storage:
    """Settings of an object store. Secrets in it are never shown."""

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    path_style: bool = False
    #: What new objects are given: encryption, storage class, tags.
    upload_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: Why objects of this storage are not written by us, if they are not.
    refusal: str | None = None
    #: Settings of stores that Arrow reaches, as the table's FileIO has them.
    arrow_settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def s3_client(self) -> Any:
        """A client for the store; boto3 is needed only where tables lie in S3."""
        return _client(tuple(sorted(self.settings.items())), self.path_style)


@lru_cache(maxsize=4)
def _client(settings: tuple[tuple[str, str], ...], path_style: bool) -> Any:
    """One client for all tasks of a worker: making it takes longer than a small splice."""
    import boto3
    from botocore.config import Config

    config = Config(
        s3={"addressing_style": "path" if path_style else "auto"},
        retries={"max_attempts": 8, "mode": "adaptive"},
        max_pool_connections=32,
        # Newer clients send checksums that many compatible stores do not know.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    options: dict[str, Any] = dict(settings)
    return boto3.client("s3", config=config, **options)


def storage_of(properties: Mapping[str, str]) -> Storage:
    """The storage that Iceberg's FileIO properties describe, vended credentials included."""
    return Storage(
        settings={S3_KEYS[key]: value for key, value in properties.items() if key in S3_KEYS},
        path_style=_is_on(properties, "s3.path-style-access"),
        upload_options=_upload_options(properties),
        refusal=_refusal(properties),
        arrow_settings={k: v for k, v in properties.items() if k.startswith(ARROW_PREFIXES)},
    )


def storage_as_pyiceberg(properties: Mapping[str, str]) -> Storage:
    """The same for pyiceberg's properties: where an endpoint is named, it asks for paths, unless
    virtual hosts are asked for."""
    by_path = "s3.endpoint" in properties and not _is_on(properties, "s3.force-virtual-addressing")
    return storage_of({"s3.path-style-access": str(by_path), **properties})


def _upload_options(properties: Mapping[str, str]) -> dict[str, str]:
    options = {WRITE_KEYS[key]: value for key, value in properties.items() if key in WRITE_KEYS}
    tags = {
        key.removeprefix(TAG_PREFIX): value
        for key, value in sorted(properties.items())
        if key.startswith(TAG_PREFIX)
    }
    if tags:
        options["Tagging"] = urlencode(tags)
    encryption = properties.get("s3.sse.type", "none")
    if encryption in ENCRYPTIONS:
        options["ServerSideEncryption"] = ENCRYPTIONS[encryption]
        if encryption != "s3" and "s3.sse.key" in properties:
            options["SSEKMSKeyId"] = properties["s3.sse.key"]
    return options


def _refusal(properties: Mapping[str, str]) -> str | None:
    if _is_on(properties, "s3.remote-signing-enabled"):
        return "requests to the store are signed by the catalog"
    if properties.get("s3.sse.type", "none") not in ("none", *ENCRYPTIONS):
        return "objects are encrypted with a key that only the table's own FileIO has"
    return None


def _is_on(properties: Mapping[str, str], key: str) -> bool:
    return properties.get(key, "false").lower() == "true"


def local_path(location: str) -> str:
    """The path in `file:///a/b` or `file:/a/b`; Iceberg does not encode its locations."""
    path = location.removeprefix("file:")
    return "/" + path.lstrip("/")

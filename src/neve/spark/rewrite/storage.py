"""How tasks reach files: a table's own FileIO settings, in a form that travels to executors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

S3_KEYS = {
    "s3.endpoint": "endpoint_url",
    "s3.access-key-id": "aws_access_key_id",
    "s3.secret-access-key": "aws_secret_access_key",
    "s3.session-token": "aws_session_token",
    "client.region": "region_name",
    "s3.region": "region_name",
}


@dataclass(frozen=True, slots=True)
class Storage:
    """Settings of an object store. Secrets in it are never shown."""

    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    path_style: bool = False

    def s3_client(self) -> Any:
        """A client for the store; boto3 is needed only where tables lie in S3."""
        import boto3
        from botocore.config import Config

        config = Config(
            s3={"addressing_style": "path" if self.path_style else "auto"},
            retries={"max_attempts": 8, "mode": "adaptive"},
            max_pool_connections=32,
        )
        return boto3.client("s3", config=config, **self.settings)


def storage_of(properties: Mapping[str, str]) -> Storage:
    """The storage that Iceberg's FileIO properties describe, vended credentials included."""
    settings = {S3_KEYS[key]: value for key, value in properties.items() if key in S3_KEYS}
    return Storage(settings, properties.get("s3.path-style-access", "false").lower() == "true")


def local_path(location: str) -> str:
    """The path in `file:///a/b` or `file:/a/b`; Iceberg does not encode its locations."""
    path = location.removeprefix("file:")
    return "/" + path.lstrip("/")

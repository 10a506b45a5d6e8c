"""Stores that Arrow has clients for: Google Cloud Storage, Azure, HDFS.

Settings are those of the table's own FileIO. Where they say something that Arrow's client cannot
do, or where it does not get through, the files are left to Iceberg.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from neve.model.errors import ParquetCorrupt, ParquetError, ParquetUnsupported
from neve.storage.readers import LocalReader, StoreReader, pieces_of

GOOGLE, AZURE, HADOOP = ("gs",), ("abfs", "abfss", "wasb", "wasbs"), ("hdfs", "viewfs")
#: Settings that only the table's own FileIO honours: objects with keys of the user's own, or a
#: client that is made of something else.
NOT_HONOURED = ("gcs.encryption-key", "gcs.decryption-key", "gcs.user-project")
AZURE_KEYS = {
    "adls.account-key": "account_key",
    "adls.auth.shared-key.account.key": "account_key",
    "adls.sas-token": "sas_token",
    "adls.client-id": "client_id",
    "adls.client-secret": "client_secret",
    "adls.tenant-id": "tenant_id",
    "adls.blob-storage-authority": "blob_storage_authority",
    "adls.blob-storage-scheme": "blob_storage_scheme",
    "adls.dfs-storage-authority": "dfs_storage_authority",
    "adls.dfs-storage-scheme": "dfs_storage_scheme",
}


class ArrowStore:
    """Files by their locations, through the client that each one needs."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = tuple(sorted(properties.items()))

    def open(self, location: str) -> StoreReader:
        """A reader that is called by its location."""
        reader = StoreReader(self._file_system(location), inside(location))
        reader.path = location
        return reader

    def create(self, location: str) -> Any:
        """A stream into a new file, which must not exist yet."""
        file_system, path = self._file_system(location), inside(location)
        if file_system.get_file_info(path).type.name != "NotFound":
            raise ParquetError(f"{location} exists already and is not replaced.")
        return file_system.open_output_stream(path)

    def send(self, source: LocalReader, location: str) -> None:
        """A new file with the bytes of one here, read back; a failed attempt is deleted again."""
        try:
            stream = self.create(location)
        except OSError as error:
            raise ParquetError(f"{location} cannot be written: {error}.") from error
        try:
            with stream:
                for piece in pieces_of(source):
                    stream.write(piece)
            with self.open(location) as written:
                if written.size_bytes != source.size_bytes or any(
                    ours != theirs
                    for ours, theirs in zip(pieces_of(source), pieces_of(written), strict=True)
                ):
                    raise ParquetCorrupt(f"{location} was written with other bytes than were sent.")
        except BaseException as error:
            # No commit knows of it, and whoever refuses leaves nothing behind.
            with suppress(OSError):
                self.delete(location)
            if isinstance(error, OSError):
                raise ParquetError(f"{location} cannot be written: {error}.") from error
            raise

    def delete(self, location: str) -> None:
        """Delete a file that nobody knows of yet."""
        self._file_system(location).delete_file(inside(location))

    def _file_system(self, location: str) -> Any:
        parts = urlsplit(location)
        return file_system(parts.scheme.lower(), parts.netloc, self._properties)


def inside(location: str) -> str:
    """The path that a client knows the file by: Iceberg does not encode its locations."""
    scheme, _, rest = location.partition("://")
    authority, _, path = rest.partition("/")
    if scheme.lower() in HADOOP:
        return f"/{path}"
    # An account is part of the client, a container or bucket part of the path.
    return f"{authority.partition('@')[0]}/{path}"


@lru_cache(maxsize=8)
def file_system(scheme: str, authority: str, settings: tuple[tuple[str, str], ...]) -> Any:
    """The client for a store; one for all tasks of a worker."""
    properties = dict(settings)
    if found := [key for key in properties if key.startswith(NOT_HONOURED)]:
        raise ParquetUnsupported(f"Arrow's client does not honour {found[0]}.")
    try:
        if scheme in GOOGLE:
            return _google(properties)
        if scheme in AZURE:
            return _azure(authority, properties)
        return _hadoop(scheme, authority)
    except (ImportError, OSError, ValueError, NotImplementedError) as error:
        what = f"Arrow has no client for {scheme}: here"
        raise ParquetUnsupported(f"{what} ({type(error).__name__}).") from error


def _google(properties: Mapping[str, str]) -> Any:
    from pyarrow.fs import GcsFileSystem

    options: dict[str, Any] = {}
    if token := properties.get("gcs.oauth2.token"):
        expires_ms = int(properties.get("gcs.oauth2.token-expires-at", 2**41))
        options["access_token"] = token
        options["credential_token_expiration"] = datetime.fromtimestamp(expires_ms / 1000, UTC)
    if properties.get("gcs.no-auth", "false").lower() == "true":
        options["anonymous"] = True
    if host := properties.get("gcs.service.host"):
        at = urlsplit(host if "://" in host else f"https://{host}")
        options |= {"scheme": at.scheme, "endpoint_override": at.netloc}
    if project := properties.get("gcs.project-id"):
        options["project_id"] = project
    return GcsFileSystem(**options)


def _azure(authority: str, properties: Mapping[str, str]) -> Any:
    from pyarrow.fs import AzureFileSystem

    host = authority.rpartition("@")[2] if "@" in authority else ""
    account = host.partition(".")[0] or properties.get("adls.account-name", "")
    if not account or any(key.startswith("adls.connection-string.") for key in properties):
        raise ValueError("no account, or one that a connection string names")
    shared = properties.get("adls.auth.shared-key.account.name")
    if shared not in (None, account):
        raise ValueError("the key is of another account")
    options = {name: properties[key] for key, name in AZURE_KEYS.items() if key in properties}
    for key in (f"adls.sas-token.{account}", f"adls.sas-token.{host}"):
        if key in properties:
            options["sas_token"] = properties[key]
    return AzureFileSystem(account, **options)


def _hadoop(scheme: str, authority: str) -> Any:
    from pyarrow.fs import HadoopFileSystem

    # libhdfs reads the cluster's own configuration, as the table's FileIO does.
    return HadoopFileSystem.from_uri(f"{scheme}://{authority or 'default'}")

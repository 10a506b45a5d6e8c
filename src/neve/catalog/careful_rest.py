"""A REST catalog that is believed about its tables, and not about where secrets are sent.

What such a server answers is merged into the properties of pyiceberg's client, and properties of
tables are merged into those of their files. Either may name a class to import, or another address
for requests that carry credentials. Only the configuration may.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urljoin, urlsplit

from pyiceberg.catalog.rest import RestCatalog, TableResponse
from pyiceberg.table import Table
from requests import PreparedRequest, Response, Session
from requests.exceptions import ContentDecodingError, InvalidURL

#: Names of code, and of how requests are signed and trusted.
OWN_KEYS = frozenset(("py-io-impl", "py-catalog-impl", "auth", "ssl", "auth.manager", "type"))
#: Where requests with secrets go.
ADDRESSES = ("uri", "oauth2-server-uri", "s3.signer.uri")
#: Metadata of tables with very many snapshots takes less.
MAX_ANSWER_BYTES = 512 * 1024 * 1024
CHUNK_BYTES = 1024 * 1024


class CarefulRestCatalog(RestCatalog):
    """Imports and asks nothing that the configuration does not name."""

    def __init__(self, name: str, **properties: str) -> None:
        self._configured = dict(properties)
        super().__init__(name, **properties)

    def _fetch_config(self) -> None:
        super()._fetch_config()
        self.properties = self._believed(self.properties)
        self.uri = self.properties["uri"]

    def _create_session(self) -> Session:
        session = super()._create_session()
        # Whoever can make a redirect would choose who hears the next request.
        session.get_redirect_target = partial(_near, session)  # type: ignore[method-assign]
        session.send = partial(_send_bounded, session)  # type: ignore[method-assign]
        return session

    def _response_to_table(
        self, identifier_tuple: tuple[str, ...], table_response: TableResponse
    ) -> Table:
        """A table whose files are reached as the catalog says, whatever its own properties say."""
        metadata = table_response.metadata
        credentials = [
            item.model_copy(update={"config": self._believed(item.config)})
            for item in table_response.storage_credentials
        ]
        believed = table_response.model_copy(
            update={
                "metadata": metadata.model_copy(update={"properties": {}}),
                "config": self._believed(table_response.config),
                "storage_credentials": credentials,
            }
        )
        table = super()._response_to_table(identifier_tuple, believed)
        table.metadata = metadata
        return table

    def _believed(self, said: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in said.items() if key.lower() not in OWN_KEYS}
        kept |= {key: self._configured[key] for key in OWN_KEYS & self._configured.keys()}
        known = {origin(str(self._configured[key])) for key in ADDRESSES if key in self._configured}
        for key in ADDRESSES:
            if key in kept and origin(str(kept[key])) not in known:
                raise InvalidURL(
                    f"it wants {key} to be {kept[key]}, which is not in the configuration"
                )
        return kept


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), port


def _send_bounded(session: Session, request: PreparedRequest, **options: Any) -> Response:
    """As the session sends it; what a few packed bytes become is counted while it is read."""
    response = Session.send(session, request, **{**options, "stream": True})
    if options.get("stream"):
        return response
    parts, read_bytes = [], 0
    for part in response.iter_content(CHUNK_BYTES):
        parts.append(part)
        read_bytes += len(part)
        if read_bytes > MAX_ANSWER_BYTES:
            response.close()
            raise ContentDecodingError("its answer is too large")
    response._content = b"".join(parts)
    return response


def _near(session: Session, response: Response) -> str | None:
    """Where a redirect leads, if that is the same server."""
    target = Session.get_redirect_target(session, response)
    if target is None:
        return None
    if not _is_near(response.url or "", target):
        # Nobody else would.
        response.close()
        raise InvalidURL("it redirects to another server")
    return target


def _is_near(url: str, target: str) -> bool:
    try:
        return origin(urljoin(url, target)) == origin(url)
    except ValueError:
        return False

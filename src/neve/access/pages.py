"""Pages of other sites, in a browser on this machine, that reach for what asks nobody."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit


def is_strange_page(headers: Mapping[str, str], *, changes: bool) -> bool:
    """Whether a request comes from such a page. Names of headers are in small letters.

    Such a page has a name of its own: in Host, where it made that name mean this machine, or in
    Origin, where it sends a form.
    """
    authority = headers.get("host", "")
    host = _host_of(authority)
    origin = headers.get("origin")
    is_other_site = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    is_form = changes and (
        is_other_site or (origin is not None and _authority_of(origin) != authority)
    )
    return is_form or not (_is_address(host) or "." not in host or host.endswith(".localhost"))


def _host_of(authority: str) -> str:
    try:
        return urlsplit(f"//{authority}").hostname or ""
    except ValueError:
        # Nothing that was understood.
        return "?."


def _authority_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True

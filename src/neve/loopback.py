"""Whether an address can be reached from this machine alone."""

from __future__ import annotations

import socket
from ipaddress import IPv6Address, ip_address


def is_loopback(host: str) -> bool:
    """Whether all that the host means lies on this machine; what cannot be told does not."""
    try:
        # No host, or a star, means every address to a socket, and this machine to a resolver.
        is_named = host.strip() not in ("", "*")
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM) if is_named else []
    except (OSError, UnicodeError, ValueError):
        return False
    return bool(found) and all(is_loopback_address(str(item[4][0])) for item in found)


def is_loopback_address(text: str) -> bool:
    """The same for an address that was resolved, as `127.0.0.1` or `::1%lo`."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback

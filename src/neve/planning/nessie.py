"""Where Nessie's branches are: part of the address of its Iceberg REST endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from neve.model.errors import ConfigError

ENDPOINT = "iceberg"
REF = "ref"


def rest_properties(name: str, properties: Mapping[str, str]) -> dict[str, str]:
    """The properties of a Nessie catalog as those of a REST one, on the branch that `ref` names.

    A REST client does not know the key, and without it would work on another branch.
    """
    found = dict(properties)
    ref = found.pop(REF, None)
    uri = urlsplit(found.get("uri", ""))
    before = [part for part in uri.path.split("/") if part]
    branch = ""
    if ENDPOINT in before:
        place = before.index(ENDPOINT)
        before, branch = before[:place], "/".join(before[place + 1 :])
    if ref is not None and branch and unquote(branch) != ref:
        raise ConfigError(
            f"Catalog {name} has the ref {ref!r}, and its uri names {unquote(branch)!r}.",
            next_step=f"Set one of both: catalogs.{name}.ref, or the end of catalogs.{name}.uri.",
        )
    named = branch if ref is None else quote(ref, safe="")
    path = "/" + "/".join([*before, ENDPOINT, *filter(None, [named])])
    return {**found, "type": "rest", "uri": urlunsplit(uri._replace(path=path))}


def refuse_ref(name: str, properties: Mapping[str, str]) -> None:
    """No other kind of catalog takes a branch, and none may be left out in silence."""
    if REF in properties and properties.get("type") != "nessie":
        raise ConfigError(
            f"Catalog {name} has a ref, which only catalogs of the type nessie have.",
            next_step=f"Set catalogs.{name}.type to nessie, or leave out ref.",
        )

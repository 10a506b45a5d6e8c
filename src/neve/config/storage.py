"""`catalog:` and `storage:` of a service's file, as one catalog of Neve's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neve.config.places import mapping_at, value_at, wrong_at
from neve.policy import values as read

#: The name of a catalog that has none in the file.
CATALOG = "default"
#: Keys of a store and the properties of a catalog that they become.
S3_PROPERTIES = {
    "region": "s3.region",
    "endpoint": "s3.endpoint",
    "access_key_id": "s3.access-key-id",
    "secret_access_key": "s3.secret-access-key",
    "session_token": "s3.session-token",
}
STORAGE_KEYS = ("type", "bucket", "path_style_access", *S3_PROPERTIES)
ELSEWHERE = "Write the store's properties into catalog, as pyiceberg names them."


def read_catalog(document: object, storage: object) -> tuple[str, dict[str, Any]]:
    """The catalog's name and its properties, with those of the store behind it."""
    given = dict(mapping_at("catalog", document))
    if not given:
        raise wrong_at("catalog", "it says nothing.", "Give it type: and uri:.")
    if nested := [key for key, value in given.items() if isinstance(value, Mapping)]:
        raise wrong_at(
            f"catalog.{nested[0]}",
            "catalog holds the keys of a single catalog, and this is a catalog of its own.",
            "Write catalogs: where catalogs have names.",
        )
    name = str(value_at("catalog.name", given.pop("name", CATALOG), read.text))
    return name, {**_of_storage(given, storage), **given}


def _of_storage(catalog: Mapping[str, Any], storage: object) -> dict[str, Any]:
    given = mapping_at("storage", storage, STORAGE_KEYS)
    if not given:
        return {}
    kind = value_at("storage.type", given.get("type"), read.text)
    if kind != "s3":
        raise wrong_at("storage.type", "Neve sets up S3 stores by this section.", ELSEWHERE)
    properties: dict[str, Any] = {
        S3_PROPERTIES[key]: value_at(f"storage.{key}", raw, _secret_text)
        for key, raw in given.items()
        if key in S3_PROPERTIES
    }
    if "path_style_access" in given:
        by_path = value_at("storage.path_style_access", given["path_style_access"], read.flag)
        properties["s3.force-virtual-addressing"] = not by_path
    if twice := sorted(properties.keys() & catalog.keys()):
        raise wrong_at("storage", f"catalog has {twice[0]}, too.", "Say it in one of the two.")
    if "bucket" in given:
        properties["warehouse"] = _warehouse(catalog, given["bucket"])
    return properties


def _warehouse(catalog: Mapping[str, Any], bucket: object) -> str:
    """Where tables lie. For a REST catalog it is the location that the client asks it for."""
    name = str(value_at("storage.bucket", bucket, read.text))
    location = name if "://" in name else f"s3://{name}"
    said = str(catalog.get("warehouse", location)).rstrip("/")
    if said != location.rstrip("/") and not said.startswith(f"{location.rstrip('/')}/"):
        raise wrong_at(
            "storage.bucket",
            "catalog.warehouse says another place.",
            "Leave one of the two out: a catalog has one warehouse.",
        )
    return location


def _secret_text(raw: object) -> str:
    """A text; it may be a secret, so that an error does not repeat it."""
    if isinstance(raw, str) and raw.strip():
        return raw.strip()
    return str(read.text(None))

"""The file of a compaction service, as it is commonly written, in Neve's own words.

`catalog`, `storage`, `compaction.strategies`, `compaction.max_parallelism` and `tables` become
catalogs, settings and policies. What cannot be honoured is an error: nothing is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neve.config.channels import with_channels
from neve.config.database import take_iceberg
from neve.config.places import mapping_at, wrong_at
from neve.config.storage import read_catalog
from neve.config.strategies import read_strategies
from neve.config.tables import read_tables

#: Keys that are translated, beside those of Neve's own settings.
TRANSLATED = ("catalog", "storage", "tables", "iceberg")
TRANSLATED_IN = {"compaction": ("max_parallelism", "strategies")}


def translated(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with nothing in it but Neve's own settings."""
    values = {key: item for key, item in document.items() if key not in TRANSLATED}
    if "catalog" in document:
        _take_catalog(values, document)
    elif "storage" in document:
        raise wrong_at(
            "storage",
            "it goes with catalog:, of which there is none.",
            "Under catalogs:, write s3.region, s3.endpoint and the like into each catalog.",
        )
    take_iceberg(values, document.get("iceberg"))
    strategies = read_strategies(_take_compaction(values))
    catalogs = values.get("catalogs")
    first = next(iter(catalogs), None) if isinstance(catalogs, Mapping) else None
    default = values.get("default_catalog") or first
    made = read_tables(document.get("tables"), strategies, str(default) if default else None)
    if made:
        own = values.get("policies") or []
        values["policies"] = [*own, *made] if isinstance(own, list) else own
    return with_channels(values)


def _take_catalog(values: dict[str, Any], document: Mapping[str, Any]) -> None:
    name, properties = read_catalog(document["catalog"], document.get("storage"))
    others = mapping_at("catalogs", values.get("catalogs"))
    if name in others:
        raise wrong_at("catalog", f"catalogs has one called {name}, too.", "Give it a name:.")
    values["catalogs"] = {name: properties, **others}


def _take_compaction(values: dict[str, Any]) -> object:
    """Leave to the section what is its own; returns what it says about strategies."""
    if not isinstance(values.get("compaction"), Mapping):
        return None
    own = dict(values["compaction"])
    strategies, parallel = own.pop("strategies", None), own.pop("max_parallelism", None)
    values["compaction"] = own
    if parallel is not None:
        maintain = dict(mapping_at("maintain", values.get("maintain")))
        if maintain.setdefault("parallel_tables", parallel) != parallel:
            raise wrong_at(
                "compaction.max_parallelism",
                "maintain.parallel_tables says another number.",
                "Say it in one of the two.",
            )
        values["maintain"] = maintain
    return strategies

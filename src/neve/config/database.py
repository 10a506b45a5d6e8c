"""The section `iceberg` of a database's configuration, in Neve's own words."""

from __future__ import annotations

from typing import Any

from neve.config.places import mapping_at, wrong_at

SECTIONS = ("write", "compaction")


def take_iceberg(values: dict[str, Any], found: object) -> None:
    """`iceberg.write` and `iceberg.compaction` are those of `database`."""
    if found is None:
        return
    said = mapping_at("iceberg", found, SECTIONS)
    own = dict(mapping_at("database", values.get("database")))
    for section in said:
        if section in own:
            raise wrong_at(
                f"iceberg.{section}",
                f"database.{section} says something, too.",
                "Say it in one of the two.",
            )
    values["database"] = {**own, **said}

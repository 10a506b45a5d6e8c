from __future__ import annotations

from tests.unit.catalog.conftest import catalogs, lake, survey

__all__ = ["catalogs", "lake", "survey"]

"""Neve keeps Apache Iceberg tables fast and cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neve.neve import Neve

__all__ = ["Neve", "__version__"]
__version__ = "0.2.0"


def __getattr__(name: str) -> object:
    # Most parts of the package are imported without the whole of it.
    if name == "Neve":
        from neve.neve import Neve

        return Neve
    raise AttributeError(f"module 'neve' has no attribute {name!r}")

"""Neve keeps Apache Iceberg tables fast and cheap."""

from __future__ import annotations

#: As type checkers know it. The module that has it takes longer to be imported than all that comes
#: before a command sees to signals, and a Ctrl-C in between would end in a traceback.
TYPE_CHECKING = False
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

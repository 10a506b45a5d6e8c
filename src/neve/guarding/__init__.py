"""Neve as one caller may use it: what others have is not there, and what is not allowed refused.

Every method that is about a table asks `table` what its name means, so that this is where the right
to it is checked; what lists things is filtered here. What runs in this process is refused whole.
"""

from __future__ import annotations

from neve.guarding.notes import Notes, write_down
from neve.guarding.view import Guarded

__all__ = ["Guarded", "Notes", "write_down"]

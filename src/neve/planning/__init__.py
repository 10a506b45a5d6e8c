"""Pure planning: facts, policy, rates and a moment go in, values come out."""

from __future__ import annotations

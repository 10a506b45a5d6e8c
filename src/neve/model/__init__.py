"""The nouns: frozen values and the error tree. Standard library only."""

from __future__ import annotations

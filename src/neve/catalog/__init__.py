"""Reads catalogs and table metadata. The only folder that imports pyiceberg."""

from __future__ import annotations

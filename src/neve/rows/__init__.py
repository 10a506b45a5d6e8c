"""Rows as Arrow values: what a rewrite does to those that it must decode.

Plain values go in and come out; files, catalogs and engines are others' business.
"""

from __future__ import annotations

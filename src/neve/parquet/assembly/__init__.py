"""Parquet files put together from the column chunks of others.

An output file is made of row groups, a row group of column chunks, and each chunk is copied from a
source, joined of the pages of several sources, or encoded again; what the wanted schema does not
have is left out. Read `source` (what a file offers), `plan` (what becomes of it, as data), `decide`
(why), then `write`.
"""

from __future__ import annotations

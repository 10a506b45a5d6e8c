"""Parquet surgery without an engine: row groups of many files become one file, byte for byte.

Read `footer` (what a file says about itself), then `splice` (the plan of the new file, as data),
then `copy_local` and `copy_s3` (two ways to carry the same plan out).
"""

from __future__ import annotations

"""Operations as the frame of jobs runs them: one file each, by Iceberg's own names."""

from __future__ import annotations

"""Queries apart from the server: what files of strangers do, they do to a process of their own."""

from __future__ import annotations

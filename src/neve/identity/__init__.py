"""Tokens of an OpenID Connect issuer: the only importer of joserfc."""

from __future__ import annotations

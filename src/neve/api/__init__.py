"""The REST edge. `create_app` in `app.py` makes it of a configured `Neve`."""

from __future__ import annotations

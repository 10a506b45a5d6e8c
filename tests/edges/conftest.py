from __future__ import annotations

from tests.unit.conftest import isolated, no_waiting_for_the_disk, tmp_path

__all__ = ["isolated", "no_waiting_for_the_disk", "tmp_path"]

"""What a task leaves behind in its worker."""

from __future__ import annotations

import importlib
import sys
import zipfile
from zipimport import zipimporter

from neve.spark.rewrite.distribute import forget_archives


def test_archives_are_not_read_anew_by_the_next_task_and_still_found(tmp_path, monkeypatch):
    archive = tmp_path / "some.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("in_an_archive_one.py", "NUMBER = 1")
        file.writestr("in_an_archive_two.py", "NUMBER = 2")
    monkeypatch.syspath_prepend(str(archive))
    assert importlib.import_module("in_an_archive_one").NUMBER == 1
    assert isinstance(sys.path_importer_cache[str(archive)], zipimporter)

    forget_archives()

    assert not any(isinstance(one, zipimporter) for one in sys.path_importer_cache.values())
    assert importlib.import_module("in_an_archive_two").NUMBER == 2

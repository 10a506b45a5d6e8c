"""What a task leaves behind in its worker."""

from __future__ import annotations

import gc
import importlib
import sys
import zipfile
from zipimport import zipimporter

from neve.model.policy import Engine
from neve.model.rewrite import RewriteTask
from neve.spark.rewrite import distribute
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


def test_what_a_worker_has_imported_is_not_looked_through_after_each_task(monkeypatch):
    monkeypatch.setattr(distribute, "_settled", [])
    calls = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    task = RewriteTask(0, (), (), (), (Engine.COPY, Engine.REWRITE))

    for _ in range(2):
        distribute.settle_imports(task)

    assert calls == ["freeze"]

"""What the configuration names is found among all of its values, whatever each is for."""

from __future__ import annotations

import json

import pytest

from neve.catalog.connect import Catalogs
from neve.named_files import named_files
from neve.settings import load_settings

pytestmark = pytest.mark.promise(22)


def test_every_value_that_leads_to_a_file_names_it(tmp_path):
    for name in ("keys.jks", "a.jar", "b.jar", "server-0123.json", "not named"):
        (tmp_path / name).write_text("x")
    (tmp_path / "warehouse").mkdir()
    config = tmp_path / "neve.yaml"
    values = {
        "catalogs": {"lake": {"type": "sql", "uri": "sqlite:///c.db", "warehouse": "warehouse"}},
        "state": {"url": "sqlite:///state.db"},
        "spark": {"conf": {"spark.jars": f"a.jar, file://{tmp_path}/b.jar", "key": "keys.jks"}},
    }
    config.write_text(json.dumps(values))
    settings = load_settings(str(config), environ={})

    found = named_files(settings, Catalogs(settings.catalogs))

    # Databases are named before they are there.
    names = ("neve.yaml", "c.db", "state.db", "keys.jks", "a.jar", "b.jar", "server-0123.json")
    assert found == sorted(str(tmp_path / name) for name in names)


def test_without_a_file_it_is_what_the_defaults_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = load_settings(environ={})

    found = named_files(settings, Catalogs(settings.catalogs))

    assert found == [str(tmp_path / ".neve" / name) for name in ("catalog.db", "state.db")]

from __future__ import annotations

from pathlib import Path

import pytest

from neve.model.errors import ConfigError, InputError
from neve.model.orphans import OrphanRules
from neve.settings import OrphanSettings, load_settings


def test_without_settings_the_rules_are_the_careful_ones():
    assert load_settings(environ={}).orphans.rules() == OrphanRules()


def test_the_section_becomes_rules():
    Path("neve.yaml").write_text(
        "orphans: {older_than: 36h, purge_delay_hours: 48, max_orphan_ratio: 0.05}\n"
    )
    section = load_settings(environ={}).orphans
    assert section.rules() == OrphanRules(36 * 3600, 48 * 3600, 0.05)


def test_no_setting_makes_a_younger_file_an_orphan():
    with pytest.raises(InputError, match="24 hours"):
        OrphanSettings(older_than="23h").rules()


@pytest.mark.parametrize("wrong", ["purge_delay_hours: 0", "max_orphan_ratio: 2", "ratio: 1"])
def test_what_makes_no_sense_is_refused(wrong):
    Path("neve.yaml").write_text(f"orphans: {{{wrong}}}\n")
    with pytest.raises(ConfigError):
        load_settings(environ={})

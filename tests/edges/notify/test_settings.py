"""Whom to tell, as the configuration says it: channels by name, addresses nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from neve.model.errors import ConfigError
from neve.model.table import TableRef
from neve.policy.resolve import resolve
from neve.settings import load_settings

HOOK = "json://hooks.example.com/T0KEN12345"
TABLE = TableRef("lake", ("db",), "events")


def load(**document):
    Path("neve.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    return load_settings(environ={"HOOK": HOOK})


def notify_of(settings, properties=None):
    return resolve(settings.policy_book("lake"), TABLE, properties or {}).notify


def test_all_tables_have_the_channels_of_the_section():
    settings = load(notifications={"channels": {"ops": "${HOOK}"}, "failures": ["ops"]})

    assert settings.notifications.channels == {"ops": HOOK}
    assert notify_of(settings).failures == ("ops",)
    assert notify_of(settings).digest == ()


def test_a_policy_and_a_table_choose_channels():
    settings = load(
        notifications={"channels": {"ops": HOOK, "team": HOOK}, "failures": "ops"},
        policies=[{"name": "p", "notify": {"failures": ["team"], "digest": ["ops", "team"]}}],
    )

    assert notify_of(settings).failures == ("team",)
    assert notify_of(settings).digest == ("ops", "team")
    assert notify_of(settings, {"neve.notify.failures": "ops"}).failures == ("ops",)


@pytest.mark.parametrize("written", [HOOK, [HOOK]])
def test_an_address_in_a_policy_becomes_a_channel_of_its_own(written):
    settings = load(policies=[{"name": "p", "notify": {"failures": written, "recoveries": [HOOK]}}])

    assert settings.notifications.channels == {"p.failures": HOOK, "p.recoveries": HOOK}
    assert notify_of(settings).failures == ("p.failures",)
    assert HOOK not in repr(settings.policies)


def test_addresses_are_secrets():
    settings = load(notifications={"channels": {"ops": HOOK}, "failures": ["ops"]})

    assert {HOOK, "T0KEN12345"} <= set(settings.secrets())
    assert "hooks.example.com" not in settings.secrets()
    assert "T0KEN12345" not in repr(settings)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"notifications": {"failures": ["opps"], "channels": {"ops": HOOK}}}, ".failures"),
        ({"notifications": {"failures": ["ops"]}}, "notifications.failures"),
        ({"notifications": {"channels": {"ops": "T0KEN12345"}}}, "notifications.channels.ops"),
        ({"notifications": {"channels": {"ops": [HOOK]}}}, "notifications.channels.ops"),
        ({"notifications": [HOOK]}, "notifications"),
        ({"notifications": {"digest": [[HOOK]]}}, "notifications.digest"),
        ({"policies": [{"name": "p", "notify": {"failures": [{"u": HOOK}]}}]}, ".notify.failures"),
        ({"policies": [{"name": "p", "notify": {"failures": "nobody"}}]}, ".notify.failures"),
    ],
)
def test_mistakes_are_told_with_their_place_and_without_addresses(document, path):
    with pytest.raises(ConfigError, match="is wrong at") as error:
        load(**document)

    said = f"{error.value.message} {error.value.next_step}"
    assert f"{path}: " in said
    assert "T0KEN12345" not in said


def test_a_name_of_no_channel_comes_with_a_suggestion():
    with pytest.raises(ConfigError) as error:
        load(notifications={"failures": ["opps"], "channels": {"ops": HOOK}})

    assert error.value.next_step == "Did you mean ops?"


@pytest.mark.parametrize("wrong", [{"digest_at": 6}, {"timezone": "Berlin"}, {"digest_att": "x"}])
def test_the_hour_of_the_digest_is_checked(wrong):
    with pytest.raises(ConfigError, match=r"notifications\."):
        load(notifications=wrong)

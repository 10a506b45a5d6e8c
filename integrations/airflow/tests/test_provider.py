"""What Airflow sees of the package, once it is installed."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import requires, version

import neve_provider
import pytest
from airflow.providers_manager import ProvidersManager
from neve_provider.get_provider_info import get_provider_info


@pytest.fixture(scope="module")
def manager():
    return ProvidersManager()


def test_airflow_finds_the_provider(manager):
    found = manager.providers["airflow-provider-neve"]

    assert found.version == version("airflow-provider-neve") == neve_provider.__version__


def test_airflow_knows_the_connection_type(manager):
    hook = manager.hooks["neve"]

    assert hook is not None
    assert (hook.hook_name, hook.connection_id_attribute_name) == ("Neve", "neve_conn_id")
    assert manager.field_behaviours["neve"]["relabeling"]["password"] == "Key"


def test_airflow_knows_the_link(manager):
    assert "neve_provider.links.NeveJobLink" in manager.extra_links_class_names


def test_what_it_names_can_be_imported():
    info = get_provider_info()
    modules = [
        name
        for kind in ("operators", "hooks", "triggers")
        for entry in info[kind]
        for name in entry["python-modules"]
    ]

    assert all(import_module(name) for name in modules)


def test_it_needs_nothing_of_a_server():
    needed = [line for line in requires("airflow-provider-neve") if "extra ==" not in line]

    assert {line.split("<")[0].split(">")[0] for line in needed} == {"apache-airflow", "httpx"}

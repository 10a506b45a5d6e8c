"""Stores that Arrow reaches: which client, told what, and when the files are left to Iceberg."""

from __future__ import annotations

import pickle

import pytest
from pyarrow.fs import AzureFileSystem, GcsFileSystem

from neve.model.errors import ParquetUnsupported
from neve.planning.refusals import ARROW_SCHEMES
from neve.storage.access import storage_of
from neve.storage.arrow import AZURE, GOOGLE, HADOOP, file_system, inside

KEY = "a2V5"


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("gs://bucket/wh/data/a b%20c.parquet", "bucket/wh/data/a b%20c.parquet"),
        ("abfss://box@account.dfs.core.windows.net/wh/f", "box/wh/f"),
        ("wasbs://box@account.blob.core.windows.net/wh/f", "box/wh/f"),
        ("abfs://box/wh/f", "box/wh/f"),
        ("hdfs://node:8020/wh/f", "/wh/f"),
        ("hdfs:///wh/f", "/wh/f"),
        ("viewfs://cluster/wh/x=1/f#1?", "/wh/x=1/f#1?"),
    ],
)
def test_a_location_is_a_path_of_its_client(location, path):
    assert inside(location) == path


def test_every_scheme_that_plans_name_has_a_client():
    assert {f"{scheme}:" for scheme in (*GOOGLE, *AZURE, *HADOOP)} == set(ARROW_SCHEMES)


@pytest.mark.parametrize(
    "settings",
    [
        {"gcs.no-auth": "true"},
        {"gcs.oauth2.token": "token", "gcs.oauth2.token-expires-at": "2000000000000"},
        {"gcs.oauth2.token": "token", "gcs.project-id": "p"},
        {"gcs.no-auth": "true", "gcs.service.host": "http://127.0.0.1:9"},
    ],
)
def test_google_is_reached_with_the_settings_of_the_table(settings):
    assert isinstance(file_system("gs", "bucket", tuple(settings.items())), GcsFileSystem)


@pytest.mark.parametrize(
    ("authority", "settings"),
    [
        ("box@acme.dfs.core.windows.net", {"adls.auth.shared-key.account.key": KEY}),
        (
            "box@acme.dfs.core.windows.net",
            {
                "adls.auth.shared-key.account.name": "acme",
                "adls.auth.shared-key.account.key": KEY,
            },
        ),
        ("box", {"adls.account-name": "acme", "adls.account-key": KEY}),
        ("box@acme.dfs.core.windows.net", {"adls.sas-token.acme": "sv=1&sig=x"}),
        (
            "box@acme.dfs.core.windows.net",
            {"adls.sas-token.acme.dfs.core.windows.net": "sv=1&sig=x"},
        ),
    ],
)
def test_azure_is_reached_with_the_settings_of_the_table(authority, settings):
    made = file_system("abfss", authority, tuple(settings.items()))

    assert isinstance(made, AzureFileSystem)
    assert made == file_system("abfss", authority, tuple(settings.items()))


@pytest.mark.parametrize(
    ("scheme", "authority", "settings"),
    [
        ("gs", "b", {"gcs.encryption-key": KEY}),
        ("gs", "b", {"gcs.decryption-key": KEY}),
        ("gs", "b", {"gcs.oauth2.token": "my-secret", "gcs.oauth2.token-expires-at": "soon"}),
        ("abfss", "box", {}),
        ("abfss", "box@acme.dfs.core.windows.net", {"adls.connection-string.acme": "secret-words"}),
        (
            "abfss",
            "box@acme.dfs.core.windows.net",
            {
                "adls.auth.shared-key.account.name": "other",
                "adls.auth.shared-key.account.key": KEY,
            },
        ),
    ],
)
def test_what_a_client_cannot_honour_is_left_to_iceberg(scheme, authority, settings):
    with pytest.raises(ParquetUnsupported) as refused:
        file_system(scheme, authority, tuple(settings.items()))

    assert not [value for value in settings.values() if value in refused.value.message]


def test_without_hadoops_library_files_of_hdfs_are_left_to_iceberg(monkeypatch):
    for name in ("HADOOP_HOME", "ARROW_LIBHDFS_DIR", "CLASSPATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JAVA_HOME", "/nowhere")

    with pytest.raises(ParquetUnsupported, match="no client for hdfs: here"):
        file_system("hdfs", "node-of-this-test:8020", ())


def test_settings_travel_to_tasks_and_are_not_shown():
    properties = {"gcs.oauth2.token": "my-secret", "adls.account-key": KEY, "uri": "http://c"}
    storage = storage_of(properties)

    assert pickle.loads(pickle.dumps(storage)).arrow_settings == {
        "gcs.oauth2.token": "my-secret",
        "adls.account-key": KEY,
    }
    assert "my-secret" not in repr(storage)

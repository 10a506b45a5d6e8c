"""A database's own config.json loads as it is, and environments have thresholds of their own."""

from __future__ import annotations

import pytest

from neve.model.errors import ConfigError
from neve.settings import load_settings

MB = 1024 * 1024
SECTION = """"iceberg": {
  "write": {
    "target_file_size_mb": 128,        // Target file size for writes
    "compression_codec": "zstd",        // Compression algorithm
    "parquet_row_group_size": 8192      // Parquet row group size
  },
  "compaction": {
    "enabled": true,                           // Enable opportunistic checking
    "small_file_threshold_mb": 64,             // "small" begins at 64 // and not below
    "min_files_to_compact": 3,
    "opportunistic_check_interval": 5,
    "max_files_per_compaction": 100
  }
}"""


def load(tmp_path, text, name="config.json", **environ):
    path = tmp_path / name
    path.write_text(text)
    return load_settings(str(path), environ=environ)


@pytest.mark.parametrize("text", [SECTION, "{" + SECTION + "}"])
def test_the_file_loads_as_it_is_and_has_a_catalog(tmp_path, text):
    settings = load(tmp_path, text)
    rules = settings.database.rules()

    assert list(settings.catalogs) == ["lake"]
    assert (rules.check_interval, rules.min_files_to_compact) == (5, 3)
    assert (rules.small_file_bytes, rules.max_files_per_compaction) == (64 * MB, 100)
    assert rules.table_properties == {
        "write.target-file-size-bytes": str(128 * MB),
        "write.parquet.compression-codec": "zstd",
        "write.parquet.row-group-limit": "8192",
    }


@pytest.mark.parametrize(
    ("environment", "expected"),
    [("development", (5, 3)), ("staging", (75, 15)), ("production", (100, 20))],
)
def test_environments(tmp_path, environment, expected, monkeypatch):
    text = f"database: {{environment: {environment}}}"
    rules = load(tmp_path, text, "neve.yaml").database.rules()
    assert (rules.check_interval, rules.min_files_to_compact) == expected

    monkeypatch.setenv("NEVE_DATABASE__ENVIRONMENT", environment)
    file = '{"iceberg": {"compaction": {"min_files_to_compact": 7}}}'
    rules = load(tmp_path, file).database.rules()
    assert (rules.check_interval, rules.min_files_to_compact) == (expected[0], 7)


@pytest.mark.parametrize(
    "text",
    [
        '{"iceberg": {"compact": {}}}',
        '{"iceberg": {"write": {"target_file_size": 1}}}',
        '{"iceberg": {"write": {"compression_codec": "rar"}}}',
        '{"iceberg": {"compaction": {"opportunistic_check_interval": 0}}}',
        '{"iceberg": {"write": {}}, "database": {"write": {}}}',
        '{"iceberg": []}',
        '{"database": {"environment": "test"}}',
    ],
)
def test_what_cannot_be_honoured_is_an_error(tmp_path, text):
    with pytest.raises(ConfigError):
        load(tmp_path, text)


def test_two_slashes_in_a_text_are_no_comment(tmp_path):
    text = '{"database": {"service_url": "http://h:1/x"}} // "y"'
    assert load(tmp_path, text).database.service_url == "http://h:1/x"

from __future__ import annotations

import pytest

from neve.storage.access import storage_as_pyiceberg


@pytest.mark.parametrize(
    ("properties", "by_path"),
    [
        ({"s3.endpoint": "http://127.0.0.1:8333"}, True),
        ({"s3.endpoint": "http://s3.local", "s3.force-virtual-addressing": "true"}, False),
        ({"s3.endpoint": "http://s3.local", "s3.path-style-access": "false"}, False),
        ({"s3.region": "eu-central-1"}, False),
    ],
)
def test_objects_are_addressed_as_pyiceberg_addresses_them(properties, by_path):
    assert storage_as_pyiceberg(properties).path_style is by_path

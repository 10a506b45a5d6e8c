from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from neve.settings import load_settings

ENVIRONMENT = {
    "CATALOG_URI": "http://catalog:8181",
    "S3_BUCKET": "lakehouse",
    "AWS_REGION": "us-east-1",
}
SERVICE_FILE = Path(__file__).with_name("service.yaml")


@pytest.fixture
def load():
    """Settings of a document, or of the service's file with some sections replaced."""

    def read(document=None, **sections):
        text = SERVICE_FILE.read_text(encoding="utf-8")
        found = yaml.safe_load(text) if document is None else dict(document)
        found |= sections
        Path("service.yaml").write_text(yaml.safe_dump(found), encoding="utf-8")
        return load_settings("service.yaml", environ=ENVIRONMENT)

    return read

"""Object storage: versitygw over a plain folder, where a bucket is a sub-folder."""

from __future__ import annotations

from pathlib import Path

import web
from fetching import go_install, once
from layout import LOOPBACK, Facts, Stack
from processes import Launch

NEEDS: tuple[str, ...] = ()
IS_DEFAULT = True
VERSION = "v1.8.0"
BUCKET = "lakehouse-warehouse"
REGION = "us-east-1"
HEALTH = "/health"


def fetch(cache: Path) -> Path:
    package = f"github.com/versity/versitygw/cmd/versitygw@{VERSION}"
    return once(cache / f"versitygw-{VERSION}", lambda folder: go_install(package, folder))


def start(stack: Stack, installed: Path) -> Launch:
    port = stack.port("s3")
    access_key, secret_key = stack.credentials("s3")
    data = stack.data_folder("s3")
    (data / BUCKET).mkdir(exist_ok=True)
    return Launch(
        command=[
            str(installed / "versitygw"),
            *("--port", f"{LOOPBACK}:{port}", "--region", REGION, "--health", HEALTH),
            *("posix", str(data)),
        ],
        # In the environment, not in the arguments: those are seen by every user of the machine.
        environment={"ROOT_ACCESS_KEY": access_key, "ROOT_SECRET_KEY": secret_key},
        facts={
            "endpoint": f"http://{LOOPBACK}:{port}",
            "port": port,
            "region": REGION,
            "bucket": BUCKET,
            "access_key": access_key,
            "secret_key": secret_key,
            "data_folder": str(data),
        },
    )


def ready(facts: Facts) -> bool:
    return web.get(facts["endpoint"] + HEALTH) is not None


def catalog_properties(facts: dict[str, Facts]) -> dict[str, str]:
    """How properties of a catalog name this storage."""
    own = facts["s3"]
    return {
        "s3.endpoint": own["endpoint"],
        "s3.access-key-id": own["access_key"],
        "s3.secret-access-key": own["secret_key"],
        "s3.region": own["region"],
    }

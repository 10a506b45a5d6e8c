"""Dashboards: a Superset over the stack's Trino, with Neve's own dashboard in it."""

from __future__ import annotations

import sys
from pathlib import Path

import web
from layout import CHECKOUT, LOOPBACK, Facts, Stack, write_private
from processes import Launch
from superset import superset

NEEDS: tuple[str, ...] = ("trino",)
IS_DEFAULT = False
SERVER = Path(__file__).parents[1] / "superset_server.py"
BUNDLE = CHECKOUT / "deploy" / "superset"
CONFIG = """\
SECRET_KEY = "{secret}"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db?check_same_thread=false"
TALISMAN_ENABLED = False
"""


def fetch(cache: Path) -> Path:
    return superset()


def start(stack: Stack, installed: Path) -> Launch:
    port = stack.port("superset")
    user, password = stack.credentials("superset")
    data = stack.data_folder("superset")
    write_private(data / "superset_config.py", CONFIG.format(secret=password, folder=data))
    (data / "neve.zip").write_bytes(_bundle(stack.facts["trino"]))
    return Launch(
        # Without this folder on its path, where a file has the name of the package.
        command=[str(installed), "-P", str(SERVER), LOOPBACK, str(port), str(data / "neve.zip")],
        environment={
            "SUPERSET_CONFIG_PATH": str(data / "superset_config.py"),
            "SUPERSET_HOME": str(data),
            "SUPERSET_USER": user,
            "SUPERSET_PASSWORD": password,
        },
        facts={
            "uri": f"http://{LOOPBACK}:{port}",
            "port": port,
            "access_key": user,
            "secret_key": password,
        },
    )


def ready(facts: Facts) -> bool:
    return web.get(facts["uri"] + "/health") is not None


def _bundle(trino: Facts) -> bytes:
    sys.path.append(str(BUNDLE))
    from bundle import packed

    return packed(f"trino://{trino['user']}@{trino['host']}:{trino['port']}/{trino['catalog']}")

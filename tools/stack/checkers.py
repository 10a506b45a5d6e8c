"""Say where programs are that check files of deploy/, dags/ and .github/; each is made once.

    python tools/stack/checkers.py NAME …

The names: helm, kubeconform and actionlint, which Go makes; airflow and superset, which are the
Pythons of their environments; promtool; and two that are no programs, kubernetes-schemas and
compose-schema: a folder of JSON Schemas of what Kubernetes takes, made from its own description,
and the one of what compose takes.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import airflow_home
from fetching import go_install, go_module, once
from kubernetes_schemas import KUBERNETES, write_schemas
from layout import StackError, cache_folder
from promtool import promtool
from superset import superset

PACKAGES = {
    "helm": ("helm.sh/helm/v3/cmd/helm", "v3.22.0"),
    "kubeconform": ("github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0"),
    "actionlint": ("github.com/rhysd/actionlint/cmd/actionlint", "v1.7.7"),
}
COMPOSE = ("github.com/compose-spec/compose-go/v2", "v2.9.0")


def checker(name: str) -> Path:
    """The program, of exactly this version: another one may judge otherwise."""
    package, version = PACKAGES[name]
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    made = once(cache / f"{name}-{version}", lambda into: go_install(f"{package}@{version}", into))
    return made / name


def schemas() -> Path:
    """The folder of schemas, a file for each kind of object."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)

    def fill(into: Path) -> None:
        with go_module("k8s.io/kubernetes", KUBERNETES) as module:
            write_schemas(module / "api" / "openapi-spec" / "swagger.json", into)

    return once(cache / f"kubernetes-schemas-{KUBERNETES}", fill)


def compose_schema() -> Path:
    """The schema of compose files, as its own library has it."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    name = "compose-spec.json"

    def fill(into: Path) -> None:
        with go_module(*COMPOSE) as module:
            shutil.copy(module / "schema" / name, into / name)

    return once(cache / f"compose-schema-{COMPOSE[1]}", fill) / name


KNOWN: dict[str, Callable[[], Path]] = {
    **{name: partial(checker, name) for name in PACKAGES},
    "kubernetes-schemas": schemas,
    "compose-schema": compose_schema,
    "airflow": lambda: airflow_home.fetch(cache_folder()) / "bin" / "python",
    "promtool": promtool,
    "superset": superset,
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or not set(sys.argv[1:]) <= KNOWN.keys():
        print(f"usage: checkers.py {' | '.join(KNOWN)} …", file=sys.stderr)
        sys.exit(2)
    try:
        for name in sys.argv[1:]:
            print(KNOWN[name](), flush=True)
    except StackError as error:
        print(f"stack: {error}", file=sys.stderr)
        sys.exit(1)

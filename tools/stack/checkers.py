"""Say where a program is that checks files of deploy/ and .github/; Go makes it once.

    python tools/stack/checkers.py NAME

The names: helm, kubeconform, actionlint; superset, which is the Python of its environment; and two
that are no programs, kubernetes-schemas and compose-schema: a folder of JSON Schemas of what
Kubernetes takes, made from its own description, and the one of what compose takes.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from fetching import go_install, go_module, once
from kubernetes_schemas import KUBERNETES, write_schemas
from layout import StackError, cache_folder
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
    "superset": superset,
}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in KNOWN:
        print(f"usage: checkers.py {' | '.join(KNOWN)}", file=sys.stderr)
        sys.exit(2)
    try:
        print(KNOWN[sys.argv[1]]())
    except StackError as error:
        print(f"stack: {error}", file=sys.stderr)
        sys.exit(1)

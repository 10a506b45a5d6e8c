"""Say where a program is that checks files of deploy/ and .github/; Go makes it once.

    python tools/stack/checkers.py helm | kubeconform | actionlint | kubernetes-schemas

The last one is a folder: JSON Schemas of what Kubernetes takes, made from its own description.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fetching import go_install, go_module, once
from kubernetes_schemas import KUBERNETES, write_schemas
from layout import StackError, cache_folder

PACKAGES = {
    "helm": ("helm.sh/helm/v3/cmd/helm", "v3.22.0"),
    "kubeconform": ("github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0"),
    "actionlint": ("github.com/rhysd/actionlint/cmd/actionlint", "v1.7.7"),
}
SCHEMAS = "kubernetes-schemas"


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

    return once(cache / f"{SCHEMAS}-{KUBERNETES}", fill)


if __name__ == "__main__":
    known = [*PACKAGES, SCHEMAS]
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        print(f"usage: checkers.py {' | '.join(known)}", file=sys.stderr)
        sys.exit(2)
    try:
        print(schemas() if sys.argv[1] == SCHEMAS else checker(sys.argv[1]))
    except StackError as error:
        print(f"stack: {error}", file=sys.stderr)
        sys.exit(1)

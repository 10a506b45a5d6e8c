"""Make a home for Airflow, and write down how to run it there, in its home.json.

    python tools/stack/airflow_home.py FOLDER [DAG …]

Airflow comes from integrations/airflow/requirements.lock into an environment of its own in the
cache; the provider and Neve, without what it depends on, are built from this checkout into the
home. The files of DAGs are linked into its DAG folder: the project's, where none are named.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from fetching import once, uv_environment, uv_program
from layout import CHECKOUT, LOOPBACK, Stack, StackError, cache_folder, write_private

LOCK = CHECKOUT / "integrations" / "airflow" / "requirements.lock"
PROJECT = CHECKOUT / "integrations" / "airflow"
EXAMPLES = PROJECT / "src" / "neve_provider" / "example_dags"


@dataclass(frozen=True)
class AirflowHome:
    """How to run Airflow: the program, and what its environment must say."""

    program: str
    python: str
    uri: str
    port: int
    environment: dict[str, str]


def fetch(cache: Path) -> Path:
    """The folder of an environment that holds exactly the lock."""
    cache.mkdir(parents=True, exist_ok=True)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:12]
    folder = cache / f"airflow-py{version}-{digest}"
    return once(folder, lambda into: uv_environment(LOCK, into))


def make_home(installed: Path, home: Path, dags: list[Path], port: int) -> AirflowHome:
    """Install what is ours, link the DAGs, make the database."""
    packages, folder = home / "packages", home / "dags"
    folder.mkdir(parents=True, exist_ok=True)
    for source in dags or [*(CHECKOUT / "dags").glob("*.py"), *EXAMPLES.glob("[!_]*.py")]:
        link = folder / source.name
        link.unlink(missing_ok=True)
        link.symlink_to(source.absolute())
    _install_ours(installed, packages)
    made = AirflowHome(
        program=str(installed / "bin" / "airflow"),
        python=str(installed / "bin" / "python"),
        uri=f"http://{LOOPBACK}:{port}",
        port=port,
        environment=_settings(installed, home, packages, port),
    )
    _run([made.program, "db", "migrate"], made.environment)
    return made


def _install_ours(installed: Path, into: Path) -> None:
    """Build the provider and Neve, and unpack their wheels without what they depend on."""
    where = ["--python", str(installed / "bin" / "python"), "--target", str(into)]
    alone = ["--no-deps", "--no-index", "--no-build-isolation", "--reinstall"]
    _run([uv_program(), "pip", "install", "-q", *where, *alone, str(PROJECT), str(CHECKOUT)])


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command,
        env=os.environ | (environment or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise StackError(f"`{' '.join(command)}` failed:\n{tail}")


def _settings(installed: Path, home: Path, packages: Path, port: int) -> dict[str, str]:
    """A small Airflow on loopback, without examples, logins and anything sent home."""
    uri = f"http://{LOOPBACK}:{port}"
    options = {
        "CORE__DAGS_FOLDER": str(home / "dags"),
        "CORE__LOAD_EXAMPLES": "False",
        "CORE__PARALLELISM": "3",
        "CORE__EXECUTION_API_SERVER_URL": f"{uri}/execution/",
        "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "API__HOST": LOOPBACK,
        "API__PORT": str(port),
        "API__BASE_URL": uri,
        "API__WORKERS": "1",
        "DAG_PROCESSOR__PARSING_PROCESSES": "1",
        # On a busy machine the default of 5 seconds fails tasks that have not begun.
        "WORKERS__EXECUTION_API_TIMEOUT": "60",
        "USAGE_DATA_COLLECTION__ENABLED": "False",
        "LOGGING__LOGGING_LEVEL": "WARNING",
    }
    return {
        "AIRFLOW_HOME": str(home),
        **{f"AIRFLOW__{name}": value for name, value in options.items()},
        # Standalone starts `airflow` by its name; the project's jobs are beside its DAGs.
        "PATH": os.pathsep.join([str(installed / "bin"), os.environ.get("PATH", "")]),
        "PYTHONPATH": str(packages),
        "NEVE_COMPACT_TABLE_JOB": str(CHECKOUT / "jobs" / "compact_table.py"),
        "NO_PROXY": f"{LOOPBACK},localhost",
    }


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="airflow_home", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("dags", type=Path, nargs="*")
    asked = parser.parse_args(arguments)
    try:
        installed = fetch(cache_folder())
        home = asked.folder.absolute()
        made = make_home(installed, home, asked.dags, Stack(home).port("airflow"))
    except StackError as error:
        print(f"stack: {error}", file=sys.stderr)
        return 1
    write_private(home / "home.json", json.dumps(asdict(made), indent=2) + "\n")
    print(f"Airflow is ready in {home}.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

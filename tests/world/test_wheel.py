"""What is shipped works where nothing else of this checkout is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.lock_file import ROOT, constraints, project

EXTRAS = project()["project"]["optional-dependencies"]
VERSION = project()["project"]["version"]
#: It holds most of what the others hold, so that it is tried without them.
WITH_EVERYTHING = "server"
LOOK_UP = """
import importlib.metadata, json, re, sys
named = {r: re.match(r"[A-Za-z0-9._-]+", r)[0] for r in json.loads(sys.argv[1])}
print(json.dumps({r: importlib.metadata.version(name) for r, name in named.items()}))
"""


@dataclass(frozen=True)
class Place:
    """An empty folder with an environment in it, and nothing of the developer's."""

    folder: Path
    uv: str
    wheel: Path

    def run(self, *command: str, codes: tuple[int, ...] = (0,)) -> str:
        kept = ("PATH", "HOME", "NEVE_CACHE", "NEVE_JAVA_HOME", "JAVA_HOME", "UV_CACHE_DIR")
        environment = {
            name: value
            for name, value in os.environ.items()
            if name in kept or name.startswith(("PIP_", "UV_", "SSL_", "http", "HTTP"))
        }
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode in codes, (command, done.stdout, done.stderr)
        return done.stdout or done.stderr

    def program(self, name: str) -> str:
        return str(self.folder / "env" / "bin" / name)

    def install(self, extra: str = "") -> None:
        what = f"{self.wheel}[{extra}]" if extra else str(self.wheel)
        self.fetch("pip", "install", "-q", "--python", self.program("python"), *self.pinned(), what)

    def fetch(self, *words: str) -> str:
        """Let uv install: from its cache, which `make setup` filled, or else from an index."""
        try:
            return self.run(self.uv, "--offline", *words)
        except AssertionError:
            return self.run(self.uv, *words)

    def install_locked(self, lock: str) -> None:
        """As images do: exactly the lock, then the wheel alone."""
        install = ("pip", "install", "-q", "--python", self.program("python"))
        self.fetch(*install, "--require-hashes", "-r", str(ROOT / lock))
        self.fetch(*install, "--no-deps", str(self.wheel))

    def pinned(self) -> list[str]:
        return ["--constraints", str(self.folder / "constraints.txt")]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the source archive, and the wheel that was made from it."""
    return build(ROOT, tmp_path_factory.mktemp("dist"))


def build(project, folder):
    words = ["--no-isolation", "--outdir", str(folder), str(project)]
    command = [sys.executable, "-m", "build", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def make_place(built, tmp_path_factory):
    uv = shutil.which("uv") or str(ROOT / ".venv" / "bin" / "uv")
    (wheel,) = built.glob("*.whl")

    def make() -> Place:
        place = Place(tmp_path_factory.mktemp("place"), uv, wheel)
        (place.folder / "constraints.txt").write_text(constraints())
        place.run(uv, "venv", "-q", "--python", sys.executable, "env")
        return place

    return make


@pytest.fixture(scope="module")
def bare(make_place):
    place = make_place()
    place.install()
    return place


def test_the_wheel_holds_all_of_the_package_and_nothing_else(built):
    packed, _ = contents(built)

    assert packed == files_of("src/neve")
    assert "neve/py.typed" in packed


def test_the_wheel_of_the_provider_needs_airflow_and_nothing_of_neve(tmp_path):
    packed, about = contents(build(ROOT / "integrations" / "airflow", tmp_path))

    assert packed == files_of("integrations/airflow/src/neve_provider")
    needed = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==).*$", about, re.MULTILINE)
    assert sorted(needed) == ["apache-airflow", "httpx"]
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert "build --no-isolation --outdir dist integrations/airflow\n" in workflow


def contents(folder: Path) -> tuple[set[str], str]:
    """What a wheel brings, and what it says of itself."""
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        about = [name for name in wheel.namelist() if ".dist-info/" in name]
        (metadata,) = (name for name in about if name.endswith("/METADATA"))
        return set(wheel.namelist()) - set(about), wheel.read(metadata).decode()


def files_of(folder: str) -> set[str]:
    """Files of a package that git has or would have, as a wheel names them."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name.partition("src/")[2] for name in told.split()}


def test_the_source_archive_holds_what_it_takes_to_work_on_it(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}

    assert names >= {"pyproject.toml", "LICENSE", "README.md", "requirements.lock", "Makefile"}
    assert names >= {"src/neve/neve.py", "tests/lock_file.py", "docs/contract.md"}
    assert not [name for name in names if name.startswith((".venv", ".neve", ".git/"))]


def test_a_bare_installation_looks_without_a_server(bare):
    assert bare.run(bare.program("neve"), "--version") == f"neve {VERSION}\n"
    told = json.loads(bare.run(bare.program("neve"), "tables", "-o", "json", codes=(1,)))
    assert "neve demo" in told["error"]["next_step"]
    told = bare.run(bare.program("neve"), "serve", codes=(1,))
    assert re.search(r"pip install 'neve\[server\]'", " ".join(told.split()))


def test_every_extra_brings_what_it_names(bare):
    for extra in sorted(EXTRAS.keys() - {WITH_EVERYTHING}):
        bare.install(extra)
        found = bare.run(bare.program("python"), "-c", LOOK_UP, json.dumps(EXTRAS[extra]))
        assert json.loads(found).keys() == set(EXTRAS[extra])
    bare.run(bare.uv, "pip", "check", "--python", bare.program("python"))
    for module in ("neve.client", "neve.notify.channels", "neve.store.redis", "neve.trino.connect"):
        bare.run(bare.program("python"), "-W", "error", "-c", f"import {module}")


def test_the_extra_of_a_server_is_all_that_a_server_needs(make_place):
    place = make_place()
    place.install(WITH_EVERYTHING)

    program = (
        "from neve import Neve; from neve.api.app import create_app\n"
        "with Neve.open() as neve: print(len(create_app(neve).openapi()['paths']))"
    )
    assert int(place.run(place.program("python"), "-c", program)) > 20


def test_the_lock_of_the_image_is_all_that_the_wheel_needs(make_place):
    place = make_place()
    place.install_locked("deploy/image/requirements.lock")

    place.run(place.uv, "pip", "check", "--python", place.program("python"))
    assert place.run(place.program("neve"), "--version") == f"neve {VERSION}\n"


def test_a_function_works_with_its_lock_alone(make_place):
    place = make_place()
    place.install_locked("deploy/lambda/requirements.lock")

    told = place.run(place.program("python"), str(ROOT / "examples" / "lambda" / "invoke.py"))
    assert '"people": 5' in told.splitlines()[-1]


def test_the_demo_runs_without_an_installation(make_place):
    place = make_place()
    run = ["tool", "run", "--python", sys.executable, *place.pinned(), "--from", str(place.wheel)]
    assert place.fetch(*run, "neve", "--version") == f"neve {VERSION}\n"
    told = place.run(
        place.uv, "--offline", *run,
        "neve", "demo", "--batches", "3", "--events", "60", "--partitions", "click", "-o", "json",
        # It also times a query, which a busy machine may make slower.
        codes=(0, 1),
    )  # fmt: skip

    held = {check["name"]: check["holds"] for check in json.loads(told)["validations"]}
    assert held["No data loss"]
    assert held["Fewer files"]

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from neve.model.errors import EnvironmentProblem
from neve.spark import jars
from neve.spark.jars import cached_jars, resolve_jars
from neve.spark.java import Java

JAVA = Java(Path("/jdk"), 21, "PATH")
WANTED = ["org.a:b:1", "org.c:d:2"]


class Resolver:
    """Takes the place of the process that resolves coordinates."""

    def __init__(self):
        self.calls = []
        self.stdout = ""
        self.stderr = ""

    def run(self, command, **options):
        self.calls.append((command, options["env"]))
        return SimpleNamespace(stdout=self.stdout, stderr=self.stderr, returncode=0)


@pytest.fixture
def resolver(monkeypatch):
    """One that finds two jars."""
    found = [Path(name).resolve() for name in ("b.jar", "d.jar")]
    for jar in found:
        jar.touch()
    fake = Resolver()
    fake.stdout = "noise\nJARS " + ",".join(jar.as_uri() for jar in found) + "\n"
    monkeypatch.setattr(jars.subprocess, "run", fake.run)
    return fake


def resolve(coordinates=WANTED, cache="cache"):
    said = []
    environ = {"NEVE_CACHE": str(Path(cache).resolve()), "PATH": "/bin"}
    return resolve_jars(coordinates, JAVA, environ, said.append), said


def paths(*names):
    return [str(Path(name).resolve()) for name in names]


def test_jars_are_resolved_by_a_process_of_its_own(resolver):
    found, said = resolve()

    ((command, environ),) = resolver.calls
    assert found == paths("b.jar", "d.jar")
    assert command[3:] == ["org.a:b:1,org.c:d:2", str(Path("cache/ivy").resolve())]
    assert (environ["JAVA_HOME"], environ["PATH"]) == ("/jdk", "/bin")
    assert said == [f"Fetching 2 Iceberg jars into {Path('cache').resolve()} (once) …"]


def test_jars_lie_in_the_cache_whatever_its_folder_is_called(resolver):
    """Spark escapes spaces, and no letters."""
    jar = Path("a b/ünï 50%/b.jar").resolve()
    jar.parent.mkdir(parents=True)
    jar.touch()
    resolver.stdout = f"JARS file://{str(jar).replace('%', '%25').replace(' ', '%20')}\n"

    assert resolve()[0] == [str(jar)]
    assert resolve() == ([str(jar)], [])


def test_jars_are_resolved_once(resolver):
    resolve()

    assert resolve(WANTED[::-1] + WANTED) == (paths("b.jar", "d.jar"), [])
    assert len(resolver.calls) == 1


def test_other_coordinates_are_resolved_on_their_own(resolver):
    resolve()
    resolve([*WANTED, "org.e:f:3"])

    assert len(resolver.calls) == 2


def test_a_jar_that_vanished_is_resolved_again(resolver):
    resolve()
    Path("b.jar").unlink()
    environ = {"NEVE_CACHE": str(Path("cache").resolve())}

    assert cached_jars(WANTED, environ) is None
    resolve()

    assert len(resolver.calls) == 2


def test_a_listing_that_is_damaged_is_made_anew(resolver):
    resolve()
    (listing,) = Path("cache/jars").glob("*.json")
    listing.write_text("{")

    assert resolve()[0] == paths("b.jar", "d.jar")
    assert cached_jars(WANTED, {"NEVE_CACHE": "cache"}) == paths("b.jar", "d.jar")


@pytest.mark.parametrize(
    ("stderr", "why"),
    [
        ("starting\n  org.a#b;1: not found  \nmore", "org.a#b;1: not found"),
        ("Server access ERROR at url", "Server access ERROR at url"),
        ("", "no reason was given"),
        ("env: 'bash': No such file\nTraceback (m", "env: 'bash': No such file"),
        (
            'Traceback (most recent call last):\n  File "error.py", line 1\n    raise AnError(\n'
            "AnError: [JAVA_GATEWAY_EXITED] It exited.",
            "AnError: [JAVA_GATEWAY_EXITED] It exited",
        ),
    ],
)
def test_jars_that_cannot_be_fetched_are_explained(resolver, stderr, why):
    resolver.stdout, resolver.stderr = "", stderr

    with pytest.raises(EnvironmentProblem) as problem:
        resolve()

    assert problem.value.message == (f"The jars org.a:b:1, org.c:d:2 could not be fetched: {why}.")
    assert "spark.jars" in problem.value.next_step


def test_a_resolution_that_takes_too_long_is_given_up(monkeypatch):
    def hang(command, **options):
        raise subprocess.TimeoutExpired(command, options["timeout"])

    monkeypatch.setattr(jars.subprocess, "run", hang)

    with pytest.raises(EnvironmentProblem, match="could not be fetched: it took too long"):
        resolve()


def test_a_cache_that_cannot_be_made_is_explained(resolver):
    Path("file").touch()

    with pytest.raises(EnvironmentProblem, match="cannot be created: Not a directory") as problem:
        resolve(cache="file/cache")

    assert problem.value.next_step == "Set NEVE_CACHE to a folder that can be written."

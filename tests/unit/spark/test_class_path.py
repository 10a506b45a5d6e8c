"""Where Iceberg's jars go."""

from __future__ import annotations

import pytest

from neve.spark.class_path import CLASS_PATH, jar_settings


def ask(tmp_path, master="local[2]", *, is_new=True, **settings):
    given = {"spark.master": master, **settings}
    return jar_settings(given, ["/a.jar", "/b.jar"], tmp_path, {}, is_new=is_new)


@pytest.mark.parametrize("master", ["local", "local[*]", "local[2]"])
def test_a_local_driver_has_them_on_its_class_path(tmp_path, master):
    assert ask(tmp_path, master) == {CLASS_PATH: "/a.jar:/b.jar"}


@pytest.mark.parametrize("master", ["yarn", "spark://host:7077", "local-cluster[2,1,1024]"])
def test_executors_elsewhere_are_sent_them(tmp_path, master):
    assert ask(tmp_path, master) == {"spark.jars": "/a.jar,/b.jar"}


def test_what_the_user_has_there_stays_first(tmp_path):
    assert ask(tmp_path, **{CLASS_PATH: "/mine.jar"}) == {CLASS_PATH: "/mine.jar:/a.jar:/b.jar"}


def test_what_sparks_own_configuration_has_there_stays(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(f"{CLASS_PATH}  /mine.jar\n")

    assert ask(tmp_path) == {"spark.jars": "/a.jar,/b.jar"}


def test_a_jvm_that_runs_already_is_sent_them(tmp_path):
    assert ask(tmp_path, is_new=False) == {"spark.jars": "/a.jar,/b.jar"}

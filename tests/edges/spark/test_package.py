"""The package for executors: what is in it, what is not, and when it is made anew."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from neve.model.errors import EnvironmentProblem, InputError
from neve.neve import Neve
from neve.spark import fetch_jars, package


@pytest.fixture
def small(monkeypatch):
    """Tasks that need one small distribution besides Neve itself."""
    monkeypatch.setattr(package, "NEEDED", ("filelock",))
    monkeypatch.setattr(package, "OPTIONAL", ("there-is-none-such",))
    package._distributions.cache_clear()
    yield
    package._distributions.cache_clear()


def names() -> set[str]:
    return {name for _, name in package._contents()}


def test_tasks_find_all_that_they_import():
    found = names()
    roots = {name.partition("/")[0] for name in found}

    assert {"neve", "pyarrow", "numpy", "boto3", "botocore", "urllib3", "jmespath"} <= roots
    assert {"neve/spark/rewrite/distribute.py", "neve/__init__.py"} <= found
    assert any(name.startswith("pyarrow/libarrow.so") for name in found) or not any(
        ".so" in name for name in found
    )
    assert any(name.startswith("botocore/data/s3/") for name in found)


def test_what_no_task_imports_stays_here():
    found = names()

    assert not [name for name in found if "__pycache__" in name or name.startswith((".", "/"))]
    assert not [name for name in found if "/tests/" in name or name.endswith((".pyi", ".h"))]
    assert not [name for name in found if name.startswith(("botocore/data/ec2/", "pyspark/"))]
    assert not [name for name in found if "flight" in name and ".so" in name]


def test_the_archive_holds_the_files_as_they_are(small, tmp_path):
    target = tmp_path / "out" / "executors.zip"

    made = Neve.write_spark_package(target)

    with zipfile.ZipFile(target) as archive:
        own = archive.read("neve/spark/package.py")
        roots = {name.partition("/")[0] for name in archive.namelist()}
    assert own == Path(package.__file__).read_bytes()
    assert {"neve", "filelock"} <= roots
    assert (made.path, made.size_bytes) == (str(target), target.stat().st_size)
    assert [path.name for path in target.parent.iterdir()] == ["executors.zip"]


def test_a_package_is_written_once_for_the_same_code(small, tmp_path, monkeypatch):
    environ = {"NEVE_CACHE": str(tmp_path)}
    first = package.cached_package(environ)
    written = first.stat().st_mtime_ns

    assert package.cached_package(environ) == first
    assert first.stat().st_mtime_ns == written
    monkeypatch.setattr(package, "own_digest", lambda: "of other code")
    assert package.cached_package(environ) != first


def test_an_image_holds_the_package_beside_its_jars(small, tmp_path, monkeypatch):
    monkeypatch.setenv("NEVE_CACHE", str(tmp_path))
    monkeypatch.setattr(fetch_jars, "resolve_jars", lambda *_: ["one.jar"])

    assert fetch_jars.main() == 0

    (held,) = (tmp_path / "executors").glob("*.zip")
    assert package.cached_package({"NEVE_CACHE": str(tmp_path)}) == held


def test_old_packages_go(small, tmp_path, monkeypatch):
    environ = {"NEVE_CACHE": str(tmp_path)}
    monkeypatch.setattr(package, "write_package", lambda target: target.touch())
    for number in range(5):
        monkeypatch.setattr(package, "own_digest", lambda number=number: str(number))
        newest = package.cached_package(environ)

    assert len(list((tmp_path / "executors").glob("*.zip"))) == 1 + package.KEPT
    assert newest.exists()


def test_a_cache_that_cannot_be_written_is_said(small, tmp_path):
    (tmp_path / "executors").write_text("a file")

    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        package.cached_package({"NEVE_CACHE": str(tmp_path)})


def test_spark_would_not_unpack_what_ends_otherwise(tmp_path):
    with pytest.raises(InputError, match=r"does not end with \.zip"):
        Neve.write_spark_package(tmp_path / "executors.rar")


#: Modules that run on executors, and those that they import when they are needed.
IN_TASKS = (
    *("spark.own_code", "spark.rewrite.distribute", "spark.footers", "spark.list_files"),
    *("spark.rewrite.misread", "spark.rewrite.tasks.copy", "spark.rewrite.tasks.remote_copy"),
    *("spark.rewrite.tasks.rewrite", "storage.s3", "storage.arrow", "storage.listing.s3"),
)
LOADED = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(f"neve.{name}")
installed = {n.partition(".")[0] for n, m in list(sys.modules.items())
             if "site-packages" in (getattr(m, "__file__", None) or "")}
print(*installed)
"""


def test_a_task_needs_nothing_that_is_not_in_the_package():
    roots = {name.partition("/")[0].removesuffix(".py") for name in names()}
    # Where coverage is measured, it loads itself into every process that has its variables.
    unmeasured = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE_")}
    said = subprocess.run(
        [sys.executable, "-c", LOADED, *IN_TASKS],
        env=unmeasured,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    # Executors have pyspark, which asks for psutil and does without; setuptools imports its hack
    # into every process of an environment that has it.
    elsewhere = {"pyspark", "py4j", "psutil", "_distutils_hack"}
    assert set(said.split()) - roots - elsewhere == set()

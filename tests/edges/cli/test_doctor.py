from __future__ import annotations

from pathlib import Path

import pytest

from neve import machine as doctor
from neve.catalog.connect import Catalogs
from neve.model.errors import EnvironmentProblem
from neve.spark import jars, java

pytestmark = pytest.mark.usefixtures("machine")


def failed(checks):
    return {check["name"]: check for check in checks if not check["passed"]}


def test_a_machine_that_has_everything(run_json, events):
    checks, code = run_json("doctor")

    assert code == 0
    assert {check["name"]: check["detail"] for check in checks[1:]} == {
        "PySpark": "4.1.2",
        "Java": "21 in /jdk (from PATH)",
        "cache folder": str(Path.cwd() / "cache"),
        "configuration": "catalogs: lake",
        "jars": "2 in place",
        "state": str(Path.cwd() / ".neve" / "state.db"),
        "catalog lake": "1 namespace",
    }


def test_people_see_marks(run, events):
    result = run("doctor")

    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "✔ catalog lake: 1 namespace"


def test_jars_that_are_not_fetched_yet_are_no_failure(run_json, events, monkeypatch):
    monkeypatch.setattr(jars, "cached_jars", lambda *_: None)

    checks, code = run_json("doctor")

    assert (code, failed(checks)) == (0, {})
    (found,) = (check["detail"] for check in checks if check["name"] == "jars")
    assert found.startswith("not fetched yet: org.apache.iceberg:")


def test_a_machine_without_java(run_json, events, monkeypatch):
    def nothing(_):
        raise EnvironmentProblem("No Java.", next_step="Install one.")

    monkeypatch.setattr(java, "find_java", nothing)

    checks, code = run_json("doctor")

    assert code == 1
    assert failed(checks) == {
        "Java": {"name": "Java", "passed": False, "detail": "No Java.", "fix": "Install one."}
    }


def test_a_spark_of_another_version(run_json, events, monkeypatch):
    monkeypatch.setattr(doctor, "version", lambda _: "3.5.0")

    checks, code = run_json("doctor")

    assert (code, list(failed(checks))) == (1, ["PySpark"])
    assert "pip install 'pyspark>=4.1,<4.2'" in failed(checks)["PySpark"]["fix"]


def test_folders_that_cannot_be_written(run_json, lake, events, monkeypatch):
    Path("file").touch()
    monkeypatch.setenv("NEVE_CACHE", "file/cache")
    uri = lake.properties["uri"]
    Path("neve.yaml").write_text(
        f"catalogs: {{lake: {{type: sql, uri: '{uri}'}}}}\nstate: {{url: 'sqlite:///file/s.db'}}"
    )

    checks, code = run_json("doctor")

    assert (code, list(failed(checks))) == (1, ["cache folder", "state"])


def test_a_configuration_that_is_wrong_ends_the_examination(run_json):
    Path("neve.yaml").write_text("sparc: {}")

    checks, code = run_json("doctor")

    assert (code, checks[-1]["name"], list(failed(checks))) == (
        1,
        "configuration",
        ["configuration"],
    )


@pytest.mark.parametrize("text", [None, "catalogs: {mine: {uri: 'sqlite:///.neve/catalog.db'}}"])
def test_the_embedded_lakehouse_without_a_table_is_no_failure(run, text):
    if text:
        Path("neve.yaml").write_text(text)

    result = run("doctor")

    name = "mine" if text else "lake"
    last = f"✔ catalog {name}: empty; its first table makes it (neve demo, or your own)"
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, last)


def test_the_embedded_lakehouse_where_it_cannot_be_made_is_one(run_json):
    Path(".neve").touch()

    checks, code = run_json("doctor")

    assert (code, list(failed(checks))) == (1, ["state", "catalog lake"])


def test_a_catalog_that_is_missing_comes_with_the_fix(run):
    Path("neve.yaml").write_text("catalogs: {lake: {uri: 'sqlite:///elsewhere.db'}}")

    result = run("doctor")

    assert result.exit_code == 1
    assert "✘ catalog lake: Catalog lake has no database yet" in result.stdout
    assert "→ Run `neve demo` for a first table" in result.stdout


def test_one_catalog_that_is_down_does_not_hide_the_others(run_json, lake, events):
    uri = lake.properties["uri"]
    Path("neve.yaml").write_text(
        f"catalogs: {{'[/down]': {{uri: 'sqlite:///x.db'}}, lake: {{type: sql, uri: '{uri}'}}}}"
    )

    checks, code = run_json("doctor")

    assert (code, list(failed(checks))) == (1, ["catalog [/down]"])
    assert checks[-1]["passed"]


def test_odd_names_are_no_markup(run):
    Path("neve.yaml").write_text("catalogs: {'[/down]': {uri: 'sqlite:///x.db'}}")

    assert "✘ catalog [/down]: Catalog [/down] has no database yet" in run("doctor").stdout


def test_no_catalog_at_all(run_json):
    Path("neve.yaml").write_text("spark: {master: 'local[1]'}")

    checks, code = run_json("doctor")

    assert (code, failed(checks)["catalogs"]["detail"]) == (1, "No catalog is configured.")


@pytest.mark.parametrize(
    ("catalog", "spark", "told"),
    [
        ("", "", ""),
        (", rest.sigv4-enabled: true", "", "its requests are signed with SigV4"),
        ("", "spark: {commit_gate: false}", "spark.commit_gate is off"),
    ],
)
def test_a_catalog_without_the_gate_is_told(run_json, monkeypatch, catalog, spark, told):
    monkeypatch.setattr(Catalogs, "namespaces", lambda *_: [("n",)])
    Path("neve.yaml").write_text(
        f"catalogs: {{remote: {{type: rest, uri: 'http://c'{catalog}}}}}\n{spark}"
    )

    checks, _ = run_json("doctor")

    doubt = f"; commits without a clear answer are not settled, since {told}" if told else ""
    assert checks[-1]["detail"].startswith(f"1 namespace{doubt}")
    assert ("not settled" in checks[-1]["detail"]) is bool(told)

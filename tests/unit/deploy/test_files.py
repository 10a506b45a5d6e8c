"""Files of deployments say what Neve takes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from tests.edges.database.lake import create, open_neve, write
from tests.lock_file import ROOT

from neve.aws_lambda.function import Function
from neve.settings import load_settings
from neve.spark.conf import packages
from neve.spark.fetch_jars import all_packages

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
SECRETS = {
    "S3_ACCESS_KEY_ID": "an access key",
    "S3_SECRET_ACCESS_KEY": "a secret key",
    "NEVE_AUDIT_KEY": "a key that seals the log",
}


def test_the_image_is_not_run_by_root_and_says_how_it_is():
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    final = lines[lines.rindex("\nFROM ") :]
    assert re.search(r"^USER 10001:10001$", final, re.MULTILINE)
    assert "HEALTHCHECK" in final
    assert "/health" in final
    assert "python -m neve.spark.fetch_jars" in lines


def test_an_image_is_made_of_what_it_copies():
    for name, ignored in (
        ("Dockerfile", ".dockerignore"),
        ("deploy/lambda/Dockerfile", "deploy/lambda/Dockerfile.dockerignore"),
    ):
        text = (ROOT / name).read_text(encoding="utf-8")
        copied = {
            word
            for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE)
            for word in line.split()[:-1]
        }
        let_through = re.findall(r"^!(.*)$", (ROOT / ignored).read_text("utf-8"), re.MULTILINE)
        assert copied == set(let_through)
        assert [word for word in copied if not (ROOT / word).exists()] == []


@pytest.mark.parametrize(
    "catalogs",
    [
        {"a": {"type": "rest", "uri": "http://a"}},
        {"a": {"type": "sql", "uri": "sqlite:///x"}},
        {"a": {"type": "glue"}, "b": {"type": "sql", "uri": "postgresql://x"}},
        {"a": {"type": "rest", "s3.endpoint": "x"}, "b": {"uri": "sqlite:///x"}},
        {"a": {"uri": "sqlite:///x"}, "b": {"uri": "postgresql://y", "warehouse": "s3://w"}},
    ],
)
def test_the_jars_of_an_image_are_those_of_every_configuration(catalogs):
    baked = {frozenset(coordinates) for coordinates in all_packages()}
    assert len(baked) == 8
    assert frozenset(packages(catalogs)) in baked


def test_the_configuration_of_compose_can_be_used():
    settings = load_settings(str(ROOT / "deploy/compose/neve.yaml"), environ=SECRETS)
    assert settings.access.enabled
    assert settings.server.host == "0.0.0.0"
    services = COMPOSE["services"].keys()
    named = f"{settings.catalogs} {settings.spark.master} {settings.state.url}"
    assert set(re.findall(r"//([a-z0-9-]+):\d+", named)) <= services


def test_every_file_and_service_that_compose_names_is_there():
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            known = (
                (ROOT / source).exists() if source.startswith(".") else source in COMPOSE["volumes"]
            )
            assert known, volume
        assert set(service.get("depends_on", ())) <= COMPOSE["services"].keys()


def test_compose_opens_nothing_to_other_machines_and_holds_no_secret():
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    for service in COMPOSE["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    asked = set(re.findall(r"\$\{(\w+)", text))
    example = (ROOT / "deploy/compose/env.example").read_text(encoding="utf-8")
    assert asked == set(re.findall(r"^(\w+)=$", example, re.MULTILINE)) == SECRETS.keys()


def test_the_configuration_of_the_chart_can_be_used():
    values = yaml.safe_load((ROOT / "deploy/helm/neve/values.yaml").read_text(encoding="utf-8"))
    Path("neve.yaml").write_text(yaml.safe_dump(values["config"]), encoding="utf-8")
    environ = {"CATALOG_URI": "http://catalog", "NEVE_AUDIT_KEY": "a key that seals the log"}
    assert load_settings(environ=environ).access.enabled


def test_the_configuration_of_the_function_can_be_used():
    environ = {"WAREHOUSE": "s3://bucket/path", "STATE_URL": "redis://localhost:6379/0"}
    settings = load_settings(str(ROOT / "deploy/lambda/neve.yaml"), environ=environ)
    assert settings.database.environment == "production"


class _Tags(yaml.SafeLoader):
    """Templates of AWS have tags of their own."""


_Tags.add_multi_constructor("!", lambda loader, suffix, node: loader.construct_scalar(node))


def test_the_rule_of_the_function_sends_what_it_answers(tmp_path):
    template = yaml.load((ROOT / "deploy/lambda/template.yaml").read_text("utf-8"), _Tags)
    function = template["Resources"]["CompactionLambdaFunction"]["Properties"]
    defaults = {name: p.get("Default") for name, p in template["Parameters"].items()}
    text = function["Events"]["CompactionRule"]["Properties"]["Input"]
    event = json.loads(re.sub(r"\$\{(\w+)\}", lambda m: defaults[m[1]], text))

    with open_neve(tmp_path) as neve:
        create(neve.database, "default", "events")
        write(neve.database, {"name": "a"}, tenant="default", table="events")
        answer = Function(lambda: neve)(event)

    assert defaults["Schedule"] == "rate(1 day)"
    assert (answer["statusCode"], json.loads(answer["body"])["success"]) == (200, True)


def test_every_example_is_listed_and_its_links_lead_somewhere():
    folder = ROOT / "examples"
    linked = re.findall(r"\]\((.*?)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert [link for link in linked if not (folder / link).exists()] == []
    kept = {
        p.relative_to(folder).as_posix()
        for p in folder.rglob("*.*")
        if "__pycache__" not in p.parts
    }
    assert kept - {"README.md"} <= set(linked)

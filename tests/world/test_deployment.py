"""Chart, workflows, compose file and dashboard, judged by the programs that they are made for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from tests.lock_file import ROOT

# Where nothing is cached, Go makes the programs first.
pytestmark = pytest.mark.timeout(900)

CHART = ROOT / "deploy" / "helm" / "neve"
WORKFLOWS = ROOT / ".github" / "workflows"
KINDS = {
    "ConfigMap", "Deployment", "NetworkPolicy", "Pod", "PodDisruptionBudget", "Service",
    "ServiceAccount",
}  # fmt: skip
#: What an installation may say, besides the least.
VARIANTS = {
    "least": {},
    "one of each": {"api": {"replicas": 1}, "worker": {"replicas": 1, "concurrency": 4}},
    "closed": {
        "networkPolicy": {
            "ingressFrom": [{"namespaceSelector": {"matchLabels": {"team": "data"}}}],
            "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
        },
        "podDisruptionBudget": {"minAvailable": "50%"},
    },
    "all of it": {
        "image": {"repository": "neve", "tag": "1", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "pull"}],
        "env": [{"name": "AWS_REGION", "value": "eu-central-1"}],
        "serviceAccount": {"annotations": {"role": "lake"}},
        "service": {"type": "LoadBalancer", "port": 80, "annotations": {"internal": "true"}},
        "api": {"nodeSelector": {"zone": "a"}, "affinity": {"podAntiAffinity": {}}},
        "worker": {"tolerations": [{"key": "batch", "operator": "Exists"}]},
    },
}


@pytest.fixture(scope="module")
def tool():
    """Where a program or a schema is; it is fetched once."""

    def find(name):
        program = [sys.executable, str(ROOT / "tools/stack/checkers.py"), name]
        told = subprocess.run(program, capture_output=True, text=True, check=False)
        assert told.returncode == 0, told.stderr
        return told.stdout.splitlines()[-1]

    return find


def ran(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.fixture(scope="module")
def template(tool):
    helm = tool("helm")

    def make(folder, values):
        path = folder / "values.yaml"
        path.write_text(yaml.safe_dump(values))
        least = ROOT / "examples" / "helm" / "values.yaml"
        return ran(helm, "template", "lake", str(CHART), "-f", str(least), "-f", str(path))

    return make


def test_helm_has_nothing_to_say_about_the_chart(tool):
    values = str(ROOT / "examples" / "helm" / "values.yaml")
    done = ran(tool("helm"), "lint", "--strict", str(CHART), "--values", values)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", VARIANTS)
def test_kubernetes_takes_what_the_chart_makes(tool, template, tmp_path, name):
    made = template(tmp_path, VARIANTS[name])
    assert made.returncode == 0, made.stderr
    kinds = [item["kind"] for item in yaml.safe_load_all(made.stdout) if item]
    assert KINDS - set(kinds) <= ({"PodDisruptionBudget"} if name == "one of each" else set())
    assert kinds.count("Deployment") == 3

    judged = conforms(tool, made.stdout)
    assert judged.returncode == 0, judged.stdout
    assert json.loads(judged.stdout)["summary"]["skipped"] == 0


def conforms(tool, text):
    where = f"{tool('kubernetes-schemas')}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    options = ("-strict", "-summary", "-output", "json", "-schema-location", where)
    return ran(tool("kubeconform"), *options, "-", input=text)


def test_no_pod_has_more_rights_than_it_needs(template, tmp_path):
    made = template(tmp_path, {}).stdout
    for item in yaml.safe_load_all(made):
        pod = item["spec"]["template"]["spec"] if item["kind"] == "Deployment" else None
        if pod is None:
            continue
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert not pod["automountServiceAccountToken"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert {"livenessProbe", "readinessProbe", "startupProbe"} <= container.keys()
        # Secrets are named, and their values stand nowhere.
        named = [
            e["valueFrom"]["secretKeyRef"]["key"] for e in container["env"] if "valueFrom" in e
        ]
        assert named == ["state-url", "audit-key"]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"config": {"access": {"enabled": False}}}, "does not listen on a network"),
        ({"config": {"state": {"url": "redis://a:b@c"}}}, "state"),
        ({"workers": {"replicas": 1}}, "workers"),
        ({"api": {"replicas": "two"}}, "replicas"),
        ({"serviceAccount": {"create": False}}, "serviceAccount.name is needed"),
    ],
)
def test_values_that_cannot_be_honoured_are_refused(template, tmp_path, values, sentence):
    made = template(tmp_path, values)
    assert made.returncode != 0
    assert sentence in made.stderr


def test_an_object_that_kubernetes_refuses_is_found(tool):
    wrong = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "a"},
        "spec": {"minAvailble": 1},
    }
    judged = conforms(tool, yaml.safe_dump(wrong))
    assert judged.returncode != 0
    assert "minAvailble" in judged.stdout


def test_the_workflows_are_right(tool):
    done = ran(tool("actionlint"), *map(str, sorted(WORKFLOWS.iterdir())), cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_workflow_that_is_wrong_is_found(tool, tmp_path):
    text = (WORKFLOWS / "release.yml").read_text(encoding="utf-8")
    (tmp_path / "release.yml").write_text(text.replace("needs: build", "needs: biuld"))
    done = ran(tool("actionlint"), str(tmp_path / "release.yml"))
    assert "biuld" in done.stdout


def test_the_compose_file_is_one(tool):
    schema = json.loads(Path(tool("compose-schema")).read_text(encoding="utf-8"))
    document = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))

    validator = jsonschema.Draft7Validator(schema)
    validator.validate(document)
    document["services"]["api"]["comand"] = []
    with pytest.raises(jsonschema.ValidationError, match="comand"):
        validator.validate(document)


def test_prometheus_can_read_every_expression_of_the_dashboard(tmp_path):
    told = ran(sys.executable, str(ROOT / "tools/stack/promtool.py"))
    assert told.returncode == 0, told.stderr
    dashboard = json.loads((ROOT / "deploy/grafana/neve.json").read_text(encoding="utf-8"))
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    rules = [{"record": f"a:{n}", "expr": text} for n, text in enumerate(expressions)]
    path = tmp_path / "rules.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))

    done = ran(told.stdout.splitlines()[-1], "check", "rules", str(path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(expressions)} rules found" in done.stdout

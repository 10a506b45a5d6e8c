"""The chart, judged by helm and by what Kubernetes says of its own objects."""

from __future__ import annotations

import json

import pytest
import yaml
from tests.lock_file import ROOT
from tests.world.checking import ran

from neve.settings import load_settings

CHART = ROOT / "deploy" / "helm" / "neve"
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
    "a cluster of Spark": {"config": {"spark": {"master": "spark://master.spark:7077"}}},
    "executors as pods": {"config": {"spark": {"master": "k8s://https://kubernetes.default.svc"}}},
}
#: What pods are given besides, by names of the downward API and of Secrets.
IN_PODS = {"POD_IP": "10.0.0.7", "POD_NAME": "worker-0", "CATALOG_URI": "http://catalog"}


@pytest.fixture(scope="module")
def template(tool):
    # A helm that Go has made believes in a Kubernetes of years ago.
    version = tool("kubernetes-schemas").rpartition("-")[2]
    command = (tool("helm"), "template", "lake", str(CHART), "--kube-version", version)

    def make(folder, values):
        path = folder / "values.yaml"
        path.write_text(yaml.safe_dump(values))
        least = ROOT / "examples" / "helm" / "values.yaml"
        return ran(*command, "-f", str(least), "-f", str(path))

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
    assert ("Role" in kinds) == ("RoleBinding" in kinds) == (name == "executors as pods")

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


def test_executors_reach_the_worker_that_is_their_driver(template, tmp_path):
    peers = [{"namespaceSelector": {"matchLabels": {"team": "spark"}}}]
    for values, callers in (
        (VARIANTS["least"], None),
        (VARIANTS["a cluster of Spark"], [{"podSelector": {}}]),
        (
            VARIANTS["executors as pods"],
            [{"podSelector": {"matchLabels": {"spark-role": "executor"}}}],
        ),
        ({**VARIANTS["a cluster of Spark"], "networkPolicy": {"executorsFrom": peers}}, peers),
    ):
        objects = made_of(template, tmp_path, values)
        ingress = objects["NetworkPolicy", "lake-neve-worker"]["spec"]["ingress"]
        assert ingress == ([] if callers is None else [{"from": callers}])
        pod = objects["Deployment", "lake-neve-worker"]["spec"]["template"]["spec"]
        pods_env = {entry["name"] for entry in pod["containers"][0]["env"]}
        assert ({"POD_IP", "POD_NAME"} <= pods_env) == (callers is not None)
        conf = settings_in(objects, tmp_path).spark.conf
        assert conf.get("spark.driver.host") == (None if callers is None else "10.0.0.7")


def test_workers_alone_may_make_pods_and_only_where_executors_are_pods(template, tmp_path):
    for name in ("least", "a cluster of Spark", "executors as pods"):
        objects = made_of(template, tmp_path, VARIANTS[name])
        mounted = {
            called.rpartition("-")[2]
            for (kind, called), item in objects.items()
            if kind == "Deployment"
            and item["spec"]["template"]["spec"]["automountServiceAccountToken"]
        }
        assert mounted == ({"worker"} if name == "executors as pods" else set())
    conf = settings_in(objects, tmp_path).spark.conf
    assert conf["spark.kubernetes.driver.pod.name"] == "worker-0"
    assert conf["spark.kubernetes.namespace"] == "default"


def test_what_an_installation_says_of_spark_goes_first(template, tmp_path):
    own = {"spark.driver.host": "neve.lake.svc", "spark.executor.instances": "4"}
    spark = {"master": "k8s://https://kubernetes.default.svc", "conf": own}

    objects = made_of(template, tmp_path, {"config": {"spark": spark}})
    conf = settings_in(objects, tmp_path).spark.conf

    assert own.items() <= conf.items()


def made_of(template, folder, values):
    made = template(folder, values)
    assert made.returncode == 0, made.stderr
    objects = [item for item in yaml.safe_load_all(made.stdout) if item]
    return {(item["kind"], item["metadata"]["name"]): item for item in objects}


def settings_in(objects, folder):
    """The configuration that pods read, as Neve reads it."""
    environ = IN_PODS | {"NEVE_AUDIT_KEY": "a key that seals the log"}
    path = folder / "neve.yaml"
    path.write_text(objects["ConfigMap", "lake-neve"]["data"]["neve.yaml"])
    return load_settings(str(path), environ=environ)


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

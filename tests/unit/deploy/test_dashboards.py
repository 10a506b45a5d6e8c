"""Every expression of the dashboard speaks of figures that /metrics tells, and of their labels."""

from __future__ import annotations

import json
import re
import sys

import pytest
import yaml
from tests.lock_file import ROOT

from neve.database.health_history import COLUMNS
from neve.planning.maintenance_log import LOG_COLUMNS

DASHBOARD = json.loads((ROOT / "deploy/grafana/neve.json").read_text(encoding="utf-8"))
#: What Prometheus itself adds to every figure.
ADDED = {"job", "instance"}
WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
FUNCTIONS = {"sum", "max", "rate", "increase", "histogram_quantile", "topk", "time", "by"}


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def rules() -> list[str]:
    text = (ROOT / "deploy/prometheus/neve.rules.yml").read_text(encoding="utf-8")
    return re.findall(r"(?<!:)\b(?:compaction|files|neve)_\w+", text)


@pytest.fixture(scope="module")
def exported():
    """Names of samples that a scrape gets, each with its labels."""
    from prometheus_client.parser import text_string_to_metric_families

    folder = str(ROOT / "tools" / "reference")
    sys.path.insert(0, folder)
    import metrics

    sys.path.remove(folder)
    figures = metrics.exposition(metrics.sample()).decode()
    del sys.modules["metrics"], sys.modules["page_parts"]
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(figures):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("expression", expressions())
def test_an_expression_speaks_of_what_is_exported(exported, expression):
    labels = {
        name
        for inner in re.findall(r"\bby \(([^)]*)\)", expression)
        for name in re.split(r", *", inner)
    } | set(re.findall(r"[{,] *(\w+) *[=!]", expression))
    bare = re.sub(r"\{[^}]*\}|\[[^]]*\]|\bby \([^)]*\)|\"[^\"]*\"", " ", expression)
    names = set(WORD.findall(bare)) - FUNCTIONS

    assert names
    assert names <= exported.keys()
    assert labels <= set().union(*(exported[name] for name in names)) | ADDED


def test_every_rule_speaks_of_what_is_exported(exported):
    assert len(rules()) > 5
    assert set(rules()) <= exported.keys()


def test_every_figure_is_on_the_dashboard(exported):
    shown = " ".join(expressions())
    bare = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in exported}
    assert [name for name in sorted(bare) if name not in shown] == []


def test_panels_have_places_and_names_of_their_own():
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def superset_columns(name: str) -> list[str]:
    path = ROOT / "deploy/superset/bundle/datasets/lakehouse" / f"{name}.yaml"
    return [column["column_name"] for column in yaml.safe_load(path.read_text("utf-8"))["columns"]]


def test_the_data_sets_of_superset_have_the_columns_of_the_tables():
    assert superset_columns("maintenance_log") == list(LOG_COLUMNS)
    assert superset_columns("health_history") == [column.name for column in COLUMNS]


def test_ids_of_the_bundle_are_its_own():
    texts = [p.read_text("utf-8") for p in (ROOT / "deploy/superset/bundle").rglob("*.yaml")]
    ids = [found for text in texts for found in re.findall(r"^uuid: (\S+)$", text, re.MULTILINE)]
    assert len(ids) == len(set(ids)) == len(texts) - 1

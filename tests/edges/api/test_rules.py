"""Rules for Prometheus speak of figures that are told."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from prometheus_client.parser import text_string_to_metric_families

RULES = Path(__file__).parents[3] / "deploy" / "prometheus" / "neve.rules.yml"
FIGURE = re.compile(r"\b(?:neve_\w+|compaction_\w+|files_compacted_\w+)(?!\w|:)")


def test_every_figure_of_a_rule_is_told(api, queued, run_next):
    queued()
    run_next()
    families = text_string_to_metric_families(api.get("/metrics").text)
    told = {sample.name for family in families for sample in family.samples}
    rules = [
        rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]
    ]
    used = {
        name for rule in rules for name in FIGURE.findall(re.sub(r"neve:\S+", "", rule["expr"]))
    }
    assert len(used) >= 8
    assert used <= told


def test_every_alert_says_what_to_do():
    groups = yaml.safe_load(RULES.read_text())["groups"]
    alerts = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    assert alerts
    for alert in alerts:
        assert alert["labels"]["severity"] in ("critical", "warning")
        assert alert["annotations"].keys() == {"summary", "description"}

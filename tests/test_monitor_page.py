"""docs/how-to/monitor.md: its metrics are counted, and its alerts are those of Prometheus."""

from __future__ import annotations

import re

from pages import metrics
from testkit.checkout import ROOT
from testkit.page_commands import page

PAGE = page("monitor.md")
SUFFIXES = ("_bucket", "_sum", "_count")


def test_documented_metrics_exist() -> None:
    known = set(re.findall(r"(?m)^\| `(\w+)` \|", metrics.text()))
    named = {
        name.removesuffix(next((each for each in SUFFIXES if name.endswith(each)), ""))
        for name in re.findall(r"\b(?:doorkeeper|process)_[a-z_]+", PAGE)
    }

    assert len(named) >= 15
    assert named - known == set()


def test_every_alert_is_documented() -> None:
    rules = (ROOT / "docker" / "prometheus" / "alerts.yaml").read_text(encoding="utf-8")
    alerts = re.findall(r"- alert: (\w+)\n(?:.*\n)*?\s+labels: {severity: (\w+)}", rules)

    assert re.findall(r"(?m)^\| `(\w+)` \| (page|ticket) \|", PAGE) == alerts

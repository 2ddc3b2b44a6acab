"""docs/how-to/monitor.md: its metrics are counted, and its alerts are those of Prometheus."""

from __future__ import annotations

import re

from pages import metrics
from testkit.checkout import ROOT
from testkit.page_commands import page

PAGE = page("monitor.md")
SUFFIXES = ("_bucket", "_sum", "_count")


def test_its_metrics_are_there() -> None:
    """Each one of ours or of the process is a row of the page of all metrics."""
    known = set(re.findall(r"(?m)^\| `(\w+)` \|", metrics.text()))
    named = {
        name.removesuffix(next((each for each in SUFFIXES if name.endswith(each)), ""))
        for name in re.findall(r"\b(?:doorkeeper|process)_[a-z_]+", PAGE)
    }

    assert len(named) >= 15
    assert named - known == set()


def test_it_has_every_alert() -> None:
    """With its severity."""
    rules = (ROOT / "docker" / "prometheus" / "alerts.yaml").read_text(encoding="utf-8")
    alerts = re.findall(r"- alert: (\w+)\n(?:.*\n)*?\s+labels: {severity: (\w+)}", rules)

    assert re.findall(r"(?m)^\| `(\w+)` \| (page|ticket) \|", PAGE) == alerts

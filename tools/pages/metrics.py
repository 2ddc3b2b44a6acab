"""The table of docs/reference/metrics.md, from ``runtime.metrics.table``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.operations.http.exposition import process_metrics
from doorkeeper.server.runtime.metrics.table import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


HEAD = """\
| metric | type | labels | what it is | Kafka's name |
|---|---|---|---|---|
"""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def row(name: str, kind: str, labels: Iterable[str], doc: str, kafka: str = "") -> str:
    """Return a line of the table."""
    names = ", ".join(f"`{label}`" for label in labels)
    cells = (f"`{name}`", kind, names, doc, f"`{kafka}`" if kafka else "")
    return f"| {' | '.join(map(_cell, cells))} |\n".replace("|  |", "| |")


def process_rows() -> Iterator[str]:
    """Yield the lines of the library's own metrics."""
    for metric in process_metrics().collect():
        suffix = "_total" if metric.type == "counter" else ""
        labels = metric.samples[0].labels
        yield row(metric.name + suffix, metric.type, labels, metric.documentation)


def text() -> str:
    """Return the table."""
    rows = [row(each.name, each.kind, each.labels, each.doc, each.kafka) for each in METRICS]
    return "".join((HEAD, *rows, *process_rows()))

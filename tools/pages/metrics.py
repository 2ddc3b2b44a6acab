"""Writes docs/reference/metrics.md."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from doorkeeper.server.api.node import UpdateOperation
from doorkeeper.server.operations.http.exposition import process_metrics
from doorkeeper.server.runtime.metrics.table import METRICS
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAGE = ROOT / "docs" / "reference" / "metrics.md"

HEAD = """\
# Metrics

What `/metrics` gives on the operations port (`doorkeeper.http.listener`; see
[operations-port.md](operations-port.md)), in the order in which it is given. Made from
`server/doorkeeper/server/runtime/metrics/table.py` by `make generate`; `make check` keeps it
current. Tests compare it with what a server gives and with the dashboard in
`docker/grafana/`.

- Times are seconds and sizes bytes, as Prometheus has them; Kafka's are mostly milliseconds.
- No label holds what a client chooses: principals, addresses, client ids and resources are in the
  audit log. There are at most as many series of requests as APIs times their error codes.
- A metric that has nothing to tell yet is listed with its type and text, and without a value.
- Counters are counted whether or not anybody asks; those of requests only where the operations
  port is on. They begin at 0 with the process.

## The times of an update

CreateAcls and DeleteAcls wait for the authorizer, off the event loop, in what Kafka calls a
purgatory (`AlterAcls` there, `acl-update` in KIP-504). Their times are told apart as KIP-504 wants:

    |<------------------------ total ------------------------>|
    |<-- local -->|<-------- remote -------->|
    its turn      the wait                   the last item    the answer
                  begins                     is complete

Other requests that change something are measured in the same way, under the `operation`
OTHERS.
The purgatory's bound counts items: `doorkeeper.update.waiting.max`. What waits stays counted when
its client leaves, until it is complete or has timed out.

    # what an administrator waits for, 99 %
    histogram_quantile(0.99,
      sum by (le) (rate(doorkeeper_request_seconds_bucket{api="CreateAcls"}[5m])))
    # how far a node is behind
    doorkeeper_head_revision - doorkeeper_revision
    # denials
    sum(rate(doorkeeper_decisions_total{result="denied"}[5m]))

## For who adds a metric

The docstring of `doorkeeper.server.runtime.metrics` says how, in three steps. A label's values must
be few and ours.

## All metrics

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


def page() -> str:
    """Return the whole page."""
    others = ", ".join(f"`{each}`" for each in UpdateOperation if each != UpdateOperation.ACLS)
    rows = [row(each.name, each.kind, each.labels, each.doc, each.kafka) for each in METRICS]
    return "".join((HEAD.replace("OTHERS", others), *rows, *process_rows()))


def pages() -> dict[Path, str]:
    """Return the text of each page."""
    return {PAGE: page()}

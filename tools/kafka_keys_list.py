"""Writes ``config/kafka_keys.json`` anew, as Kafka's own ``KafkaConfig`` lists its keys.

PYTHONPATH=tools:tests python -m kafka_keys_list

The small Java program ``tests/interop/configuration/ConfigurationOracle.java`` asks it, of the
reference release and of 3.9.1. A key that has an effect here is a row of ``config`` and is
left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from doorkeeper.server.config.kafka_keys import FILE
from doorkeeper.server.config.keys import KEYS
from testkit.checkout import ROOT
from testkit.java_lines import JavaLines
from testkit.kafka_jars import VERSIONS, jars

PROGRAM = ROOT / "tests" / "interop" / "configuration"

Row = Sequence[str | None]
Rows = Mapping[str, Row]
"""Type and default by key, as the program gives them."""

BEFORE_3_9 = (
    "advertised.host.name",
    "advertised.port",
    "authorizer.zookeeper.connection.timeout.ms",
    "authorizer.zookeeper.session.timeout.ms",
    "authorizer.zookeeper.url",
    "host.name",
    "port",
    "producer.id.quota.window.num",
    "producer.id.quota.window.size.seconds",
    "quota.consumer.default",
    "quota.producer.default",
    "zookeeper.sync.time.ms",
)
"""Keys that ``KafkaConfig`` of 3.9.1 does not list any more, and files of today still have."""


def asked(version: str) -> Rows:
    """Return the keys of a release.

    Raises:
        Unavailable: this machine has no Java, or cannot fetch the release.

    """
    lines = JavaLines(jars(version, PROGRAM), "ConfigurationOracle")
    try:
        rows: Rows = lines.ask({"ask": "keys"})
    finally:
        lines.close()
    return rows


def written(present: Mapping[str, Row], reference: Rows, older: Rows) -> str:
    """Return the file with both lists anew; whose dynamic values a key takes stays."""
    rows = {
        name: [*row, *present.get(name, ())[2:]]
        for name, row in sorted(reference.items())
        if name not in KEYS
    }
    earlier = sorted(({*older, *BEFORE_3_9} - reference.keys()) - KEYS.keys())
    keys = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    names = ",\n".join(map(json.dumps, earlier))
    return f'{{\n"keys": {{\n{keys}\n}},\n"earlier": [\n{names}\n]\n}}\n'


if __name__ == "__main__":
    KNOWN = json.loads(FILE.read_text(encoding="utf-8"))["keys"]
    FILE.write_text(written(KNOWN, *map(asked, VERSIONS[:2])), encoding="utf-8")

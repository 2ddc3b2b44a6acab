"""Writes ``config/kafka_keys.py`` anew, as Kafka's own ``KafkaConfig`` lists its keys.

PYTHONPATH=tools:tests python -m kafka_keys_list

The small Java program ``tests/interop/configuration/ConfigurationOracle.java`` asks it, of the
reference release and of 3.9.1. A key that has an effect here stands in ``config/keys.py`` and is
left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from doorkeeper.server.config.keys import KEYS
from testkit.checkout import ROOT
from testkit.java_lines import JavaLines
from testkit.kafka_jars import VERSIONS, jars

FILE = ROOT / "server" / "doorkeeper" / "config" / "kafka_keys.py"
PROGRAM = ROOT / "tests" / "interop" / "configuration"

Rows = Mapping[str, Sequence[str | None]]
"""Type and default by key, as the program gives them."""

LINE_MAX = 100

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


def written(text: str, reference: Rows, older: Rows) -> str:
    """Return the module with both lists anew; the rest of its text stays."""
    without_effect = {name: row for name, row in reference.items() if name not in KEYS}
    earlier = ({*older, *BEFORE_3_9} - reference.keys()) - KEYS.keys()
    rows = [_row(name, kind, default) for name, (kind, default) in sorted(without_effect.items())]
    names = [f"        {_quoted(name)},\n" for name in sorted(earlier)]
    head, rest = text.split("WITHOUT_EFFECT: Final[dict[str, tuple[str, str | None]]] = {\n")
    middle, tail = rest.split("OF_EARLIER_RELEASES: Final = frozenset(\n    {\n")
    between = middle.partition("}\n")[2]
    return (
        f"{head}WITHOUT_EFFECT: Final[dict[str, tuple[str, str | None]]] = {{\n{''.join(rows)}}}\n"
        f"{between}OF_EARLIER_RELEASES: Final = frozenset(\n    {{\n{''.join(names)}    }}\n"
        f"{tail.partition('    }' + chr(10))[2]}"
    )


def _row(name: str, kind: str | None, default: str | None) -> str:
    """Return the lines of a key, as ruff breaks them."""
    line = f"    {_quoted(name)}: ({_quoted(kind)}, {_quoted(default)}),"
    if len(line) <= LINE_MAX:
        return f"{line}{_excuse(default)}\n"
    parts = f"        {_quoted(kind)},\n        {_quoted(default)},\n"
    return f"    {_quoted(name)}: (\n{parts}    ),\n"


def _excuse(default: str | None) -> str:
    """Return what ruff wants to read beside a path for temporary files."""
    is_temporary = default is not None and default.startswith("/tmp")
    return "  # noqa: S108  a name that Kafka has" if is_temporary else ""


def _quoted(text: str | None) -> str:
    return "None" if text is None else json.dumps(text)


if __name__ == "__main__":
    FILE.write_text(
        written(FILE.read_text(encoding="utf-8"), *map(asked, VERSIONS[:2])), encoding="utf-8"
    )

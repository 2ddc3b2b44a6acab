"""Writes ``config/kafka_versions.json`` anew: what a broker of each release lists in ApiVersions.

PYTHONPATH=tools:tests python -m kafka_versions_list

The small Java program ``tests/interop/kafka_versions/VersionsOracle.java`` asks the classes of each
release, of which about 15 MB are fetched.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any, Final

from doorkeeper.server.config.kafka_versions import FILE
from testkit.checkout import ROOT
from testkit.kafka_jars import client_jars

PROGRAM = ROOT / "tests" / "interop" / "kafka_versions"

RELEASES: Final = (
    *("2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2"),
    *("3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.1"),
    *("4.0.1", "4.1.1", "4.2.0", "4.3.1", "4.4.0"),
)
"""The releases, oldest first: before 2.0 clients need versions that the schemas do not have."""

TELEMETRY: Final = ("71", "72")
"""The keys of telemetry, which a broker lists only with a plug-in that receives it."""


def asked(release: str) -> dict[str, Any]:
    """Return what a broker of a release lists.

    Raises:
        Unavailable: this machine has no Java, or cannot fetch the release.
    """
    command = ["java", "-cp", client_jars(release, PROGRAM).classpath, "VersionsOracle"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    row: dict[str, Any] = json.loads(done.stdout)
    for key in TELEMETRY:
        row["apis"].pop(key, None)
    return row


def written(rows: dict[str, dict[str, Any]]) -> str:
    """Return the file: a release a line, by the first two numbers of its name."""
    lines = (
        f"{json.dumps(release.rpartition('.')[0])}: {json.dumps(row)}"
        for release, row in rows.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(written({release: asked(release) for release in RELEASES}), encoding="utf-8")

"""Check every configuration of Kafka in a folder, such as a clone of a public repository.

python tools/check_configurations.py FOLDER...

It prints the findings of each properties file of a broker or controller, and of each Compose file
with an image of Kafka, then totals: whoever reads them judges whether an error is true. Files of
ZooKeeper's time are checked for 3.9. Nothing is written.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from doorkeeper.base import properties
from doorkeeper.base.config_errors import ConfigError
from doorkeeper.server.app.config_rules.checking import check, release_of
from doorkeeper.server.app.config_rules.containers import NotCompose, files_of
from doorkeeper.server.app.config_rules.rule import Severity
from doorkeeper.server.config.loading import ConfigFile

_OF_NODES = {"process.roles", "zookeeper.connect", "broker.id", "authorizer.class.name"}
_OTHERS = {"group.id", "key.converter"}
"""Keys of clients and of Connect."""


def configurations(folder: Path) -> list[list[ConfigFile]]:
    """Return the clusters of a folder: each properties file is one, and each Compose file."""
    clusters = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        try:
            if path.suffix == ".properties":
                data = path.read_bytes()
                entries = tuple(properties.parse(data, name))
                keys = {entry.key for entry in entries}
                if _OF_NODES & keys and not _OTHERS & keys:
                    clusters.append([ConfigFile(name, entries, data)])
            elif path.suffix in (".yml", ".yaml") and path.is_file():
                clusters.append(files_of(path.read_text("utf-8"), name))
        except (OSError, UnicodeDecodeError, NotCompose, ConfigError):
            continue
    return clusters


def main(folders: list[str]) -> int:
    """Print findings and totals."""
    total = Counter[str]()
    for folder in map(Path, folders):
        for files in configurations(folder):
            older = any("zookeeper.connect" in {each.key for each in file.entries}
                        for file in files)  # fmt: skip
            findings = check(files, release=release_of("3.9" if older else "4.3"))
            total["configurations"] += 1
            for finding in findings:
                total[finding.severity.value] += 1
                total[finding.code] += 1
                mark = "ERROR" if finding.severity is Severity.ERROR else "warning"
                print(f"{mark} {finding}")
    print(dict(total.most_common()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

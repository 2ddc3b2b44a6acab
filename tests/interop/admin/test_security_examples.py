"""Every kafka-acls.sh command of Kafka's security documentation runs as it is printed there."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from testkit.kafka_acl_rows import Acls, Row, Rows, listed
from testkit.kafka_target import Target
from testkit.kafka_tools import KafkaTools, run_on_terminal, write_scripts

EXAMPLES = Path(__file__).parents[1] / "kafka" / "security_examples.txt"


@dataclass(kw_only=True)
class Example:
    """One printed command and what it did to a real broker's ACLs."""

    line: str
    added: set[Row] = field(default_factory=set)
    removed: set[Row] = field(default_factory=set)
    listed: set[Row] = field(default_factory=set)


def examples() -> list[Example]:
    """Read the commands and what is expected of each."""
    found: list[Example] = []
    for line in EXAMPLES.read_text().splitlines():
        if line.startswith("$ "):
            found.append(Example(line=line[2:]))
        elif line[:2] in {"+ ", "- ", "= "}:
            kind, name, pattern, principal, host, operation, permission = line[2:].split()
            last = found[-1]
            kept = {"+": last.added, "-": last.removed, "=": last.listed}[line[0]]
            kept.add((kind, name, pattern, principal, host, operation, permission))
    return found


@pytest.fixture
def folder(tools: KafkaTools, target: Target, tmp_path: Path) -> Path:
    """Give a folder as Kafka's own: its scripts in bin, and the client's configuration."""
    write_scripts(tools.jars, tmp_path / "bin", plain=target.plain, sasl=target.sasl)
    config = target.config("admin")
    lines = "".join(f"{key}={value}\n" for key, value in config.items())
    (tmp_path / "adminclient-configs.conf").write_text(lines)
    return tmp_path


def test_documented_commands_run_as_printed(folder: Path, acls: Acls) -> None:
    """Each command exits 0, lists what Kafka lists, and leaves the ACLs that it leaves on Kafka."""
    held: Rows = frozenset()

    for example in examples():
        words = ["bash", "-c", example.line]
        done = run_on_terminal(words, answers=[("(y/n)", "y")] * 9, folder=folder)

        assert done.status == 0, (example.line, done)
        held = (held | example.added) - example.removed
        assert acls.are(held), example.line
        if " --list " in example.line:
            assert listed(done) == example.listed, example.line


def test_all_documented_commands_are_tested() -> None:
    found = examples()

    assert len(found) == 15
    silent = [e.line for e in found if not (e.added or e.removed or e.listed)]
    assert len(silent) == 2
    assert all("--command-config adminclient-configs.conf --add" in line for line in silent)

"""``doorkeeper acls`` on a stopped server prints what kafka-acls.sh prints on a running one."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testkit.kafka_tools import KafkaTools
from testkit.serving import Serving

LINES = (
    "list",
    "add --allow-principal User:bob --allow-principal User:al --operation Read --topic t --group g",
    "add --deny-principal User:eve --deny-host 10.0.0.1 --deny-host ::1 --topic *",
    "add --allow-principal User:bob --operation Describe --delegation-token d",
    "add --allow-principal User:bob --operation CreateTokens --user-principal User:o",
    "add --allow-principal User:bob --operation TwoPhaseCommit --transactional-id x",
    "add --allow-principal User:bob --topic t- --resource-pattern-type PREFIXED",
    "add --allow-principal User:bob --cluster --operation alterconfigs",
    "list",
    "list --topic t",
    "list --topic t-1 --resource-pattern-type match",
    "list --principal User:bob",
    "list --principal User:nobody --cluster",
    "remove --force --topic t --allow-principal User:bob --operation Read",
    "list --topic t --resource-pattern-type any",
    "remove --force --topic t --resource-pattern-type any",
    "list",
)
REFUSED = (
    "add --topic t",
    "add --allow-principal User:a",
    "add --allow-host x --topic t",
    "add --allow-principal User:a --topic t --resource-pattern-type any",
    "add --allow-principal User:a --cluster --resource-pattern-type match",
    "remove --force",
)


@pytest.fixture
def tools(kafka_tools: Callable[[str], KafkaTools]) -> KafkaTools:
    """Give the reference release's tools."""
    return kafka_tools("4.3.1")


def offline(folder: Path, line: str) -> tuple[int, str, str]:
    """Run a line on the store in a folder."""
    words = [*line.split(), "--override", f"doorkeeper.data.dir={folder / 'offline'}"]
    done = subprocess.run(
        [sys.executable, "-m", "doorkeeper", "acls", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def in_order(text: str) -> list[str]:
    """Return the lines sorted; which of several comes first has a space before it."""
    return sorted(line.strip(" ") for line in text.splitlines())


def test_the_texts_are_the_tools(tools: KafkaTools, tmp_path: Path) -> None:
    """Every line of every command; only the order, which a hash table gives there, is ours."""
    offline(tmp_path, "add --allow-principal User:x --topic first")
    offline(tmp_path, "remove --force --topic first")
    printed = 0
    with Serving(tmp_path) as server:
        address = f"localhost:{server.port()}"

        def online(line: str) -> tuple[int, str, str]:
            action, *words = line.split()
            done = tools.run("kafka-acls", "--bootstrap-server", address, f"--{action}", *words)
            return done.status, done.stdout, done.stderr

        for line in LINES:
            status, text, said = offline(tmp_path, line)
            theirs = online(line)
            assert (status, said) == (theirs[0], theirs[2]) == (0, ""), line
            assert in_order(text) == in_order(theirs[1]), line
            printed += text.count("\n")
        for line in REFUSED:
            status, text, said = offline(tmp_path, line)
            theirs = online(line)
            assert (status, text) == theirs[:2] == (1, ""), line
            assert said == f"doorkeeper: {theirs[2].splitlines()[0]}\n", line

    assert printed > 50

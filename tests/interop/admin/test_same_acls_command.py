"""``doorkeeper acls`` over the wire says what kafka-acls.sh says, and exits the same."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from doorkeeper.cli.commands import doorkeeper
from testkit.kafka_acls_commands import LINES
from testkit.kafka_tools import Done
from testkit.side_by_side import unequal
from testkit.tool_texts import said, where

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from testkit.kafka_tools import KafkaTools
    from testkit.oracle_totals import Totals
    from testkit.pairs import Pair

ACTIONS = {"--add": "add", "--remove": "remove", "--list": "list"}
ACCEPTED = {"add": ["--accept", "networks"], "remove": ["--accept", "networks"], "list": []}
"""What the tool does without a word: the release of a broker may compare networks as text."""

ONLY_THE_TOOLS = {
    "- --list --add": "an action is a word of its own here",
    "- --list --remove --force": "as above",
    "-": "as above: the group shows its help",
    "- --help": "the help is ours",
    "- --version": "so is the version",
    "- --list extra words": "what is no option is refused, where the tool takes no notice",
    "neither --list": "an address is asked for in the words of all commands that take one",
}

FAILED = "Error while executing ACL command: "
NEEDED = re.compile(
    r"\ndoorkeeper: (?:(adding|removing|listing) ACLs needs (Alter|Describe) on"
    r"|\S+ does not serve) .*"
)
"""A line of ours after the tool's: the permission that the command needs, or the right address."""

NOTES = re.compile(
    r"^doorkeeper: (?:0 removed: |note: no topic (?:has this name|begins so): ).*\n?", re.MULTILINE
)
"""Ours alone: nothing was removed, and why; a name that no topic can have. The tool is silent."""

OPERATIONS = re.compile(r"(only supports operations) \[(.*)\]")


def tools_words(done: Done) -> Done:
    """Return what the tool says without Java's traces: the reason is for stderr."""
    before, failed, after = done.stdout.partition(FAILED)
    reason = after.partition("\n")[0] if failed else done.stderr.partition("\n")[0]
    return Done(status=done.status, stdout=before, stderr=f"{failed}{reason}")


def our_words(words: Sequence[str]) -> Done:
    """Run our command."""
    (action,) = (ACTIONS[word] for word in words if word in ACTIONS)
    rest = [word for word in words if word not in ACTIONS]
    result = CliRunner().invoke(doorkeeper, ["acls", action, *ACCEPTED[action], *rest])
    said_ = NOTES.sub("", NEEDED.sub("", result.stderr)).removeprefix("doorkeeper: ")
    if action == "remove":
        # Ours lists what goes first, so that the listing is what a server refuses.
        said_ = said_.replace("needs DESCRIBE permission", "needs ALTER permission")
    return Done(status=result.exit_code, stdout=result.stdout, stderr=said_)


def in_order(done: Done) -> Done:
    """Return it with the sets in order that Java writes by chance."""
    sort = OPERATIONS.sub(lambda m: f"{m[1]} {sorted(m[2].split(', '))}", done.stderr)
    return Done(status=done.status, stdout=done.stdout, stderr=sort)


@pytest.mark.parametrize("asks_kafka", [False, True], ids=["doorkeeper", "kafka"])
def test_every_command(
    kafka_tools: Callable[[str], KafkaTools],
    pair: Pair,
    totals: Totals,
    tmp_path: Path,
    *,
    asks_kafka: bool,
) -> None:
    """Each line of the catalogue, on our server and on a real broker; one asks what the other does.

    The tool asks the other server, so that both begin and go on with the same ACLs.
    """
    tools = kafka_tools("4.3.1")
    pair.clear()
    theirs, ours = pair.reference, pair.ours
    if asks_kafka:
        theirs, ours = ours, theirs
    differences = []
    compared = 0
    for line in LINES:
        if line in ONLY_THE_TOOLS:
            continue
        who, *words = line.split()
        tool = tools_words(tools.run("kafka-acls", *where(theirs, who, tmp_path), *words))
        command = our_words([*where(ours, who, tmp_path), *words])
        theirs.settle()
        ours.settle()
        expected, found = (said(in_order(each), tmp_path) for each in (tool, command))
        compared += 1
        if expected != found:
            differences += [line, *unequal("", list(expected), list(found))]
    totals.compared["commands of doorkeeper acls"] += compared
    assert compared == len(LINES) - len(ONLY_THE_TOOLS)
    assert not differences, "\n".join(differences)


def test_json_and_tables_match_the_listing(pair: Pair) -> None:
    pair.clear()
    where_ = ["--bootstrap-server", pair.reference.target.plain]
    added = our_words(
        [*where_, "--add", "--topic", "t", "--group", "g", "--consumer", "--allow-principal", "U:a"]
    )
    pair.reference.settle()

    text = our_words([*where_, "--list"])
    table = our_words([*where_, "--list", "--output", "table"])
    found = json.loads(our_words([*where_, "--list", "--output", "json"]).stdout)

    assert added.status == text.status == table.status == 0
    assert text.stdout.count("principal=U:a") == len(found["acls"]) == 3
    assert len(table.stdout.splitlines()) == 4

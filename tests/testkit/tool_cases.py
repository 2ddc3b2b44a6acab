"""Lines for Kafka's tools, and what each release prints of a broker and of us.

The lines are in ``tests/interop/tools/kafka.yaml``, the differences in ``differences.yaml``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

from testkit.kafka_jars import PROJECT, TOOLS
from testkit.side_by_side import unequal
from testkit.tool_texts import said, where

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from testkit.kafka_tools import KafkaTools
    from testkit.pairs import Pair
    from testkit.side_by_side import Side

FOLDER = PROJECT / "tests" / "interop" / "tools"

WORKS, REFUSED, DIFFERS = "works", "refused", "differs"
"""Outcomes; the data has the name of a difference in place of the last."""

OPTION_OF_CONFIG: Mapping[str, str] = {
    "kafka-leader-election": "--admin.config",
    "kafka-cluster": "--config",
}
"""How a tool takes the properties of its client, where not by --command-config."""

READ_ONLY = ("--list", "--describe", "describe", "list", "cluster-id", "list-endpoints")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One command: whose it is, its words, and the outcome in each release that has it."""

    tool: str
    user: str
    words: str
    outcomes: Mapping[str, str]

    @property
    def changes(self) -> bool:
        """Whether it may change the state of the server."""
        return not any(word in READ_ONLY for word in self.words.split())


def number(release: str) -> tuple[int, ...]:
    """Return what releases are sorted by."""
    return tuple(map(int, release.split(".")))


@cache
def data() -> Any:
    """Return the whole of ``kafka.yaml``."""
    return yaml.safe_load((FOLDER / "kafka.yaml").read_text(encoding="utf-8"))


def differences() -> Mapping[str, str]:
    """Return the reason of each difference by its name."""
    found: Mapping[str, str] = yaml.safe_load((FOLDER / "differences.yaml").read_text("utf-8"))
    return found


def lines() -> Iterator[Line]:
    """Yield all lines in their order."""
    for entry in data()["tools"]:
        for row in entry["lines"]:
            parts: Mapping[str, Any] = {"line": row} if isinstance(row, str) else row
            user, _, words = (parts.get("line") or parts[REFUSED]).partition(" ")
            outcome = parts.get("outcome", REFUSED if REFUSED in parts else WORKS)
            of_releases = parts.get("releases", {})
            since = max(number(each.get("since", "0")) for each in (entry, parts))
            before = number(parts.get("before", "99"))
            outcomes = {
                release: of_releases.get(release, outcome)
                for release in TOOLS
                if since <= number(release) < before
            }
            yield Line(tool=entry["tool"], user=user, words=words, outcomes=outcomes)


def run_both(tools: KafkaTools, pair: Pair, line: Line, folder: Path) -> tuple[str, list[str]]:
    """Run one line against both servers; return the outcome and where the texts differ."""
    theirs, ours = (_run(tools, side, line, folder) for side in (pair.reference, pair.ours))
    if theirs != ours and line.tool == "kafka-acls" and "--add" in line.words.split():
        # It lists what it has added, which a broker may show a little later.
        theirs, ours = (_run(tools, side, line, folder) for side in (pair.reference, pair.ours))
    if theirs != ours:
        return DIFFERS, unequal("", list(theirs), list(ours))
    return (REFUSED if theirs[0] else WORKS), []


def _run(tools: KafkaTools, side: Side, line: Line, folder: Path) -> Any:
    done = tools.run(line.tool, *_words(line, side, folder))
    if line.changes:
        side.settle()
    return _normal(said(done, folder))


def _words(line: Line, side: Side, folder: Path) -> Sequence[str]:
    address = where(side, line.user, folder)
    option = OPTION_OF_CONFIG.get(line.tool, "--command-config")
    address = [option if word == "--command-config" else word for word in address]
    words = [_file(word, folder) for word in line.words.split()]
    # These two take the address before the word that says what to do.
    if line.tool in ("kafka-transactions", "kafka-features", "kafka-metadata-quorum"):
        return [*address, *words]
    return [*words, *address]


def _file(word: str, folder: Path) -> str:
    if not word.startswith("@"):
        return word
    file = folder / word[1:]
    file.write_text(data()["files"][word[1:]])
    return str(file)


_NOISE: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"\s+"), " "),
    (re.compile(r"TopicId: \S{22}"), "TopicId: <id>"),
    (re.compile(r"Cluster ?I[Dd]: \S{22}"), "Cluster ID: <id>"),
    # How far the log of metadata is, and since when.
    (re.compile(r"HighWatermark: +\d+"), "HighWatermark: <n>"),
    (re.compile(r"\b\d+ 0 (\d{13}|\d+ ms ago) (\d{13}|\d+ ms ago)"), "<n>"),
    (re.compile(r'"logDir":"[^"]*"'), '"logDir":"<folder>"'),
    (re.compile(r'"log_dirs":\["/[^"]*"\]'), '"log_dirs":["<folder>"]'),
    (re.compile(r"localhost +\d+"), "localhost <port>"),
    # How often a client asked until its time was over; where it waited is chance.
    (re.compile(r"Call\(callName=.* attempt\(s\)"), "<time-out>"),
    (
        re.compile(r"Timed out waiting for a node assignment\. Call: \w+(\(api=\w+\))?"),
        "<time-out>",
    ),
)


def _normal(texts: tuple[int, list[list[str]], list[list[str]]]) -> Any:
    """Return status and texts without what a server makes up, such as ids of topics."""

    def plain(text: str) -> str:
        for pattern, word in _NOISE:
            text = pattern.sub(word, text)
        return text

    status, *streams = texts
    return (status, *([sorted(map(plain, block)) for block in stream] for stream in streams))


def kind(outcome: str) -> str:
    """Return the outcome that a run has, where the data has the name of a difference."""
    return outcome if outcome in (WORKS, REFUSED) else DIFFERS

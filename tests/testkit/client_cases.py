"""Calls of administrators' clients, and what each gives of a broker and of us.

The calls are in ``tests/interop/tools/clients.yaml``. Each client has a program of ours, which
takes the address of a server and prints a line for each call: ``call``, its name, ``works`` or
``refused``, and the result as text, parted by tabs. Its last line is ``missing`` with the names of
the methods that it never called.
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from testkit.load import scaled
from testkit.tool_cases import DIFFERS, FOLDER, REFUSED, WORKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUN_S = 300
"""All calls of a client, on a busy machine too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCalls:
    """What one release of a client is asked, with the outcome of each call."""

    name: str
    release: str
    program: str
    not_called: tuple[str, ...]
    outcomes: Mapping[str, str]


class Call(NamedTuple):
    """One line of a program."""

    name: str
    outcome: str
    text: str


@cache
def clients() -> Sequence[ClientCalls]:
    """Return all clients in their order."""
    text = (FOLDER / "clients.yaml").read_text(encoding="utf-8")
    return tuple(map(_client, yaml.safe_load(text)["clients"]))


def _client(entry: Mapping[str, Any]) -> ClientCalls:
    outcomes: dict[str, str] = {}
    for row in entry["calls"]:
        parts: Mapping[str, str] = {"call": row} if isinstance(row, str) else row
        name = parts.get("call") or parts[REFUSED]
        outcomes[name] = parts.get("outcome", REFUSED if REFUSED in parts else WORKS)
    return ClientCalls(
        name=entry["client"],
        release=str(entry["release"]),
        program=entry["program"],
        not_called=tuple(entry.get("not_called", ())),
        outcomes=outcomes,
    )


def run_programs(
    command: Sequence[str], addresses: Sequence[str]
) -> tuple[list[list[Call]], set[str]]:
    """Run a program against each server at the same time.

    Returns:
        The calls of each server, and the methods that were not called.

    Raises:
        RuntimeError: the program ended with an error; with what it wrote.
    """
    running = [
        subprocess.Popen(
            [*command, address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        for address in addresses
    ]
    found = []
    missing: set[str] = set()
    try:
        for process in running:
            output, errors = process.communicate(timeout=scaled(RUN_S))
            if process.returncode != 0:
                raise RuntimeError(
                    f"{command} ended with {process.returncode}: {errors[-2000:]}\n{output[-2000:]}"
                )
            rows = [line.split("\t") for line in output.splitlines()]
            found.append([Call(*row[1:]) for row in rows if row[0] == "call"])
            missing.update(name for row in rows if row[0] == "missing" for name in row[1].split())
    finally:
        for process in running:
            process.kill()
            process.communicate()
    return found, missing


_NOISE: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"(localhost|127\.0\.0\.1):\d+"), "<address>"),
    (re.compile(r"\b([Pp]ort['\"]?[:=] ?)\d+"), r"\1<n>"),
    (re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])"), "<id>"),
    (re.compile(r"(?<='topic_id': )[\w+/]{22}"), "<id>"),
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<id>"),
    # How far the log of metadata is, and since when.
    (re.compile(r"(highWatermark=|logEndOffset=|log_end_offset': |high_watermark': )\d+"), "<n>"),
    (re.compile(r"\b1[78]\d{11}\b"), "<time>"),
    (re.compile(r"@[0-9a-f]{4,8}\b|0x[0-9a-f]{6,16}"), "@"),
    (re.compile(r"/tmp/[\w/-]*/data"), "<folder>"),
    # How often a client asked until its time was over; where it waited is chance.
    (re.compile(r"Call\(callName=.*? attempt\(s\)"), "<time-out>"),
    (
        re.compile(r"Timed out waiting for a node assignment\. Call: \w+(\(api=\w+\))?"),
        "<time-out>",
    ),
)


def normal(text: str) -> str:
    """Return the text of a result without what a server makes up."""
    for pattern, word in _NOISE:
        text = pattern.sub(word, text)
    return _OPERATIONS.sub(_in_order, text)


_OPERATIONS = re.compile(r"(?<=uthorizedOperations=\[)[A-Z_, ]*(?=\])")


def _in_order(match: re.Match[str]) -> str:
    """Return names of operations in order: each JVM has its own in a hash table."""
    return ", ".join(sorted(match[0].split(", ")))


def compared(theirs: Call, ours: Call) -> tuple[str, list[str]]:
    """Return the outcome of a call, and where the two results differ."""
    if theirs.outcome == ours.outcome and normal(theirs.text) == normal(ours.text):
        return ours.outcome, []
    return DIFFERS, [
        f"  kafka: {theirs.outcome} {theirs.text}",
        f"  we:    {ours.outcome} {ours.text}",
    ]

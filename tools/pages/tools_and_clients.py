"""The tables of docs/reference/tools-and-clients.md, from the cases.

The suite runs every case of the page and asserts its outcome
(``tests/interop/admin/test_same_tools.py``).
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from testkit import client_cases, tool_cases
from testkit.kafka_jars import TOOLS
from testkit.tool_cases import DIFFERS, REFUSED, WORKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from testkit.client_cases import ClientCalls
    from testkit.tool_cases import Line

USERS = {
    "-": "",
    "bob": " (by a user without permissions)",
    "controller": " (of the controller)",
    "impatient": "",
}


def text() -> str:
    """Return all tables."""
    lines = list(tool_cases.lines())
    tools = (_tool(tool, of_it) for tool, of_it in groupby(lines, lambda line: line.tool))
    parts = (
        (_summary(lines), _summary_of_clients()),
        tools,
        (_files(),),
        map(_client, client_cases.clients()),
        (_differences(),),
    )
    return "".join(text for part in parts for text in part)


def _summary_of_clients() -> str:
    rows = "".join(
        f"| [{client.name}](#{_anchor(client)}) | {client.release} |"
        f" {_of(sum(tool_cases.kind(each) != DIFFERS for each in outcomes), len(outcomes))} |\n"
        for client in client_cases.clients()
        for outcomes in [list(client.outcomes.values())]
    )
    head = "| client | release | calls |\n|---|---|---|\n"
    return f"\n## Calls that are answered as by a broker\n\n{head}{rows}"


def _anchor(client: ClientCalls) -> str:
    """Return the anchor of a client's heading, as GitHub makes it."""
    kept = re.sub(r"[^\w\- ]", "", _title(client).lower())
    return kept.replace(" ", "-")


def _title(client: ClientCalls) -> str:
    return f"{client.name} {client.release}"


def _client(client: ClientCalls) -> str:
    left_out = ", ".join(f"`{name}`" for name in client.not_called)
    note = f"Not called: {left_out}.\n\n" if left_out else ""
    rows = "".join(
        f"| `{name}` | {_word(outcome)} |\n" for name, outcome in client.outcomes.items()
    )
    return f"\n## {_title(client)}\n\n{note}| call | |\n|---|---|\n{rows}"


def _summary(lines: Iterable[Line]) -> str:
    asked: Counter[tuple[str, str]] = Counter()
    alike: Counter[tuple[str, str]] = Counter()
    for line in lines:
        for release, outcome in line.outcomes.items():
            asked[line.tool, release] += 1
            alike[line.tool, release] += tool_cases.kind(outcome) != DIFFERS
    tools = dict.fromkeys(tool for tool, _ in asked)
    return "".join(
        [
            "## Lines that are answered as by a broker\n\n",
            f"| tool | {' | '.join(TOOLS)} |\n|---|{'---|' * len(TOOLS)}\n",
            *(
                f"| [{tool}](#{tool}) |"
                f" {' | '.join(_of(alike[tool, each], asked[tool, each]) for each in TOOLS)} |\n"
                for tool in tools
            ),
        ]
    )


def _of(alike: int, asked: int) -> str:
    return f"{alike} of {asked}" if asked else ""


def _tool(tool: str, lines: Iterable[Line]) -> str:
    head = f"\n## {tool}\n\n| asked | {' | '.join(TOOLS)} |\n|---|{'---|' * len(TOOLS)}\n"
    return head + "".join(
        f"| {_asked(line)} | {' | '.join(_cell(line.outcomes, release) for release in TOOLS)} |\n"
        for line in lines
    )


def _asked(line: Line) -> str:
    words = line.words.replace("|", "\\|")
    return f"`{words}`{USERS[line.user]}" if words else "(nothing)"


def _cell(outcomes: Mapping[str, str], release: str) -> str:
    return _word(outcomes.get(release, ""))


def _word(outcome: str) -> str:
    return outcome if outcome in ("", WORKS, REFUSED) else f"[{outcome}](#differences)"


def _files() -> str:
    rows = "".join(
        f"| `@{name}` | `{text.strip()}` |\n" for name, text in tool_cases.data()["files"].items()
    ).replace("\\n", " ")
    return f"\n## Files\n\n| file | content |\n|---|---|\n{rows}"


def _differences() -> str:
    rows = "".join(f"| `{name}` | {why} |\n" for name, why in tool_cases.differences().items())
    return f"\n## Differences\n\n| name | why |\n|---|---|\n{rows}"

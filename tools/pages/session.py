"""The diagram and tables of docs/reference/session.md, from ``net.protocol.session``."""

from __future__ import annotations

from doorkeeper.server.net.protocol.session import (
    ADMISSIONS,
    TRANSITIONS,
    Arrival,
    Result,
    SessionAction,
    SessionState,
)


def text() -> str:
    """Return the diagram and both tables."""
    return "".join([*_diagram(), "\n", *_meanings(), "\n", *_admissions()])


def _diagram() -> list[str]:
    edges: dict[tuple[SessionState, SessionState], list[Result]] = {}
    for state, moves in TRANSITIONS.items():
        for result, after in moves.items():
            edges.setdefault((state, after), []).append(result)
    return [
        "```mermaid\nstateDiagram-v2\n",
        "    accTitle: States of a session\n",
        "    accDescr: The moves between the states in the table below, each with its cause.\n",
        "    [*] --> INITIAL: SASL\n",
        "    [*] --> OPEN: no SASL\n",
        *(
            f"    {before.name} --> {after.name}: {'; '.join(result.value for result in results)}\n"
            for (before, after), results in edges.items()
        ),
        "    LIMITED --> EXPIRED: the time is over\n",
        "    CLOSED --> [*]\n```\n",
    ]


def _meanings() -> list[str]:
    return [
        "| state | meaning |\n|---|---|\n",
        *(f"| {state.name} | {state.value} |\n" for state in SessionState),
    ]


def _admissions() -> list[str]:
    rows = [
        f"| {state.name} | "
        + " | ".join(
            ADMISSIONS[state].get(arrival, SessionAction.CLOSE).name for arrival in Arrival
        )
        + " |\n"
        for state in SessionState
    ]
    return [
        "What is done with what arrives:\n\n",
        "| state | " + " | ".join(arrival.value for arrival in Arrival) + " |\n",
        "|---" * (len(Arrival) + 1) + "|\n",
        *rows,
        "\n",
        *(f"- {action.name}: {action.value}\n" for action in SessionAction),
    ]

"""The table of states of docs/explanation/real-clusters.md, from ``doorkeeper.sync.states``."""

from __future__ import annotations

from doorkeeper.sync.states import TRANSITIONS, Event, Role, State


def text() -> str:
    """Return the states with their transitions, and the meanings of events and roles."""
    return "".join([*_states(), "\n", *_events(), "\n", *_roles()])


def _states() -> list[str]:
    return [
        "| state | what is done | " + " | ".join(role.name for role in Role) + " |\n",
        "|---" * (len(Role) + 2) + "|\n",
        *(
            f"| {state.name} | {state.value} | "
            + " | ".join(_moves(role, state) for role in Role)
            + " |\n"
            for state in State
        ),
    ]


def _moves(role: Role, state: State) -> str:
    moves = TRANSITIONS[role].get(state, {}).items()
    return "<br>".join(f"{event.name} → {after.name}" for event, after in moves) or "-"


def _events() -> list[str]:
    return [
        "| event | meaning |\n|---|---|\n",
        *(f"| {event.name} | {event.value} |\n" for event in Event),
    ]


def _roles() -> list[str]:
    return [f"- {role.name}: a server that {role.value}\n" for role in Role]

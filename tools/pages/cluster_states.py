"""The table of states of docs/explanation/real-clusters.md, from ``doorkeeper.sync.states``."""

from __future__ import annotations

from doorkeeper.sync.states import TRANSITIONS, Role, State


def text() -> str:
    """Return the states with their transitions, and the meanings of roles."""
    return "".join([*_states(), "\n", *_roles()])


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
    return "<br>".join(f"{when} → {after.name}" for after, when in moves) or "-"


def _roles() -> list[str]:
    return [f"- {role.name}: a server that {role.value}\n" for role in Role]

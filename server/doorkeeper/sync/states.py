"""The synchronization of one cluster as a state machine in tables.

A state has one action, which returns the next state; ``TRANSITIONS`` has those that a role permits,
and when each follows. Only the table of an owner has SENDING.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Role(Enum):
    """What a server may do with a cluster."""

    OBSERVER = "reports differences"
    STRANGER = "holds every change back, for the cluster belongs to another store"
    OWNER = "removes differences"


class State(Enum):
    """The state of a synchronization; the value is its action."""

    RESTING = "waits for news, or for the next reading"
    CLAIMING = "takes the lease, and the desired ACLs"
    STANDBY = "leaves the cluster to the node that holds it"
    READING = "reads one broker; where it differs, all"
    LOOKING_UP = "asks all brokers for the ACLs that the metadata log names"
    JUDGING = "asks the rules of changes what may be sent; reports what is held back"
    SENDING = "sends what may be sent"
    CONFIRMING = "asks each broker whether it has the desired ACLs"
    FAILED = "forgets what is known, and closes the connections"
    CLOSED = "has ended"


Table = dict[State, dict[State, str]]
"""The next states of each state, and when they follow."""

_NOTHING: Final = "no change may be sent, or none is needed"
_NO_LEASE: Final = "another node has the lease"

_OWNER: Final[Table] = {
    State.RESTING: {State.CLAIMING: "there is news, or the pause is over"},
    State.CLAIMING: {
        State.RESTING: "nothing is to be compared yet",
        State.STANDBY: _NO_LEASE,
        State.READING: "a reading is due, or too little is known",
        State.LOOKING_UP: "the metadata log has a few changes",
        State.JUDGING: "what is known is recent enough",
    },
    State.STANDBY: {
        State.CONFIRMING: "a receipt is waited for",
        State.RESTING: "no receipt is waited for",
    },
    State.READING: {State.JUDGING: "the difference is known"},
    State.LOOKING_UP: {State.JUDGING: "the difference is known"},
    State.JUDGING: {State.SENDING: "changes may be sent", State.CONFIRMING: _NOTHING},
    State.SENDING: {
        State.CONFIRMING: "all changes were sent",
        State.JUDGING: "the cluster refused some",
        State.CLAIMING: "other ACLs are desired meanwhile",
        State.STANDBY: _NO_LEASE,
    },
    State.CONFIRMING: {State.RESTING: "the brokers have answered"},
    State.FAILED: {State.CLAIMING: "the pause is over"},
    State.CLOSED: {},
}
_STRANGER: Final[Table] = {
    **{state: row for state, row in _OWNER.items() if state is not State.SENDING},
    State.JUDGING: {State.CONFIRMING: _NOTHING},
}
_OBSERVER: Final[Table] = {
    **{state: row for state, row in _STRANGER.items() if state is not State.CONFIRMING},
    State.STANDBY: {State.RESTING: "no receipt is waited for"},
    State.JUDGING: {State.RESTING: _NOTHING},
}

TRANSITIONS: Final[dict[Role, Table]] = {
    Role.OBSERVER: _OBSERVER,
    Role.STRANGER: _STRANGER,
    Role.OWNER: _OWNER,
}
"""Every state but CLOSED is followed by FAILED where the cluster cannot be read or changed, and by
CLOSED where the task is cancelled."""


def check(role: Role, before: State, after: State) -> None:
    """Check that a role permits a transition.

    Raises:
        RuntimeError: it does not, which is a fault of this server.
    """
    if after not in TRANSITIONS[role][before] and after not in (State.FAILED, State.CLOSED):
        raise RuntimeError(f"{before.name} to {after.name} is not permitted: {role.name}")

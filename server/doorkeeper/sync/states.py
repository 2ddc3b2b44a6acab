"""The synchronization of one cluster as a state machine in tables.

A state has one action, whose result is an event; ``TRANSITIONS`` maps a role, a state and an event
to the next state. Only the table of an owner has SENDING.
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


class Event(Enum):
    """The result of an action."""

    WOKEN = "there is news, or the pause is over"
    NO_TARGET = "nothing is to be compared yet"
    OTHER_HOLDER = "another node has the lease"
    UNREAD = "a reading is due, or too little is known"
    LOGGED = "the metadata log has a few changes"
    CURRENT = "what is known is recent enough"
    NEEDED = "a receipt is waited for"
    NOT_NEEDED = "no receipt is waited for"
    COMPARED = "the difference is known"
    SENDABLE = "changes may be sent"
    NOTHING = "no change may be sent, or none is needed"
    SENT = "all changes were sent"
    REFUSED = "the cluster refused some"
    OVERTAKEN = "other ACLs are desired meanwhile"
    ANSWERED = "the brokers have answered"
    FAILED = "the cluster cannot be read or changed"
    CLOSED = "the task is cancelled"


Table = dict[State, dict[Event, State]]

_OWNER: Final[Table] = {
    State.RESTING: {Event.WOKEN: State.CLAIMING},
    State.CLAIMING: {
        Event.NO_TARGET: State.RESTING,
        Event.OTHER_HOLDER: State.STANDBY,
        Event.UNREAD: State.READING,
        Event.LOGGED: State.LOOKING_UP,
        Event.CURRENT: State.JUDGING,
    },
    State.STANDBY: {Event.NEEDED: State.CONFIRMING, Event.NOT_NEEDED: State.RESTING},
    State.READING: {Event.COMPARED: State.JUDGING},
    State.LOOKING_UP: {Event.COMPARED: State.JUDGING},
    State.JUDGING: {Event.SENDABLE: State.SENDING, Event.NOTHING: State.CONFIRMING},
    State.SENDING: {
        Event.SENT: State.CONFIRMING,
        Event.REFUSED: State.JUDGING,
        Event.OVERTAKEN: State.CLAIMING,
        Event.OTHER_HOLDER: State.STANDBY,
    },
    State.CONFIRMING: {Event.ANSWERED: State.RESTING},
    State.FAILED: {Event.WOKEN: State.CLAIMING},
    State.CLOSED: {},
}
_STRANGER: Final[Table] = {
    **{state: row for state, row in _OWNER.items() if state is not State.SENDING},
    State.JUDGING: {Event.NOTHING: State.CONFIRMING},
}
_OBSERVER: Final[Table] = {
    **{state: row for state, row in _STRANGER.items() if state is not State.CONFIRMING},
    State.STANDBY: {Event.NOT_NEEDED: State.RESTING},
    State.JUDGING: {Event.NOTHING: State.RESTING},
}

TRANSITIONS: Final[dict[Role, Table]] = {
    Role.OBSERVER: _OBSERVER,
    Role.STRANGER: _STRANGER,
    Role.OWNER: _OWNER,
}
"""FAILED and CLOSED are events of every state but CLOSED, and lead to the states of these names."""


def next_state(role: Role, state: State, event: Event) -> State:
    """Return the next state.

    Raises:
        KeyError: the action of this state has no such result in this role.
    """
    if event is Event.FAILED:
        return State.FAILED
    return State.CLOSED if event is Event.CLOSED else TRANSITIONS[role][state][event]

"""The synchronization of one cluster as a state machine in tables, and its pauses.

A state has one action, whose result is an event; ``TRANSITIONS`` maps a role, a state and an event
to the next state. Only the table of an owner has SENDING. Times are seconds of one monotonic clock.
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
    UNREAD = "a reading is due, or nothing is known"
    LOGGED = "the metadata log has changes"
    CURRENT = "what is known is recent enough"
    NEEDED = "a receipt is waited for"
    NOT_NEEDED = "no receipt is waited for"
    COMPARED = "the difference is known"
    TOO_MANY = "the changes are too many to be looked up"
    SENDABLE = "changes may be sent"
    NOTHING = "no change may be sent, or none is needed"
    SENT = "all changes were sent"
    REFUSED = "the cluster refused some"
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
    State.LOOKING_UP: {Event.COMPARED: State.JUDGING, Event.TOO_MANY: State.READING},
    State.JUDGING: {Event.SENDABLE: State.SENDING, Event.NOTHING: State.CONFIRMING},
    State.SENDING: {
        Event.SENT: State.CONFIRMING,
        Event.REFUSED: State.JUDGING,
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


# A broker follows its controller within milliseconds; one that is gone is asked rarely.
_PENDING_S: Final = (0.005, 0.01, 0.02, 0.05, 0.1, *(0.2,) * 50)
"""Pauses while brokers do not have a change yet, in all ten seconds; then the interval."""

# Most failures are a connection that ended: the first attempts follow at once.
_RETRY_S: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0)
"""Pauses after failures, at most the interval; the last one repeats."""


class Pace:
    """The pauses of one cluster."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self.read_s = 0.0
        """When the cluster was read, or was known to be as it should be."""
        self.failures = 0
        """The number of failures since the last success."""
        self._attempts = 0
        """How often brokers were asked since the last change."""

    def is_due(self, now_s: float) -> bool:
        """Return whether the cluster is to be read again."""
        return now_s - self.read_s >= self._interval_s

    def hurry(self) -> None:
        """Ask brokers for what they do not have yet after short pauses."""
        self._attempts = 0

    def calm(self) -> None:
        """Ask them at the intervals only, until there is news."""
        self._attempts = len(_PENDING_S)

    def pause_s(self, now_s: float, *, is_pending: bool, is_holder: bool) -> float:
        """Return the pause before the next round; ``is_pending`` says that brokers lack a change.

        A node that does not hold the cluster does not read it at the intervals.
        """
        pause_s = self._interval_s - (now_s - self.read_s if is_holder else 0)
        if self.failures:
            pause_s = _RETRY_S[min(self.failures, len(_RETRY_S)) - 1]
        elif is_pending and self._attempts < len(_PENDING_S):
            pause_s = _PENDING_S[self._attempts]
            self._attempts += 1
        return min(max(pause_s, 0), self._interval_s)

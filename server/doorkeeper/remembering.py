"""Whole answers to questions, kept for as long as what they were made from is what counts.

A request that comes again is answered without decoding, deciding or encoding anything:

    who asks     listener, protocol, address, principal, kind of login, software     ``Asker``
    what         the frame without its correlation id, behind its size
    the truth    everything that answers are made from: the ACLs and who is a super user, topics,
                 groups, configuration, addresses. All of them are values that never change, so
                 that two truths are compared by their parts. Where it is another one than that of
                 the answers, these are forgotten.

What an answer leaves behind beside its bytes is left again: it counts as a request, with its error
and its decisions, which the audit trail is told again. What would have to be written again, a line
of the authorizer's log, is never skipped: an answer that caused one is not kept.

Only APIs are remembered that ask for nothing else than the truth: ``docs/decisions/0210``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol
from weakref import WeakValueDictionary

from doorkeeper.session import Action
from doorkeeper_wire.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sized

    from doorkeeper.acl.model import Principal
    from doorkeeper.authorizer.guard import Told, ToldAgain
    from doorkeeper.client_limits import ClientLimits
    from doorkeeper.config.client_rules import ClientSoftware
    from doorkeeper.exchange import Counts, Peer
    from doorkeeper.limits import Limits
    from doorkeeper.session import Session

APIS: Final = frozenset(
    {ApiKey.METADATA, ApiKey.DESCRIBE_GROUPS, ApiKey.API_VERSIONS, ApiKey.DESCRIBE_ACLS}
)
"""The APIs whose answers are kept: they read nothing that the truth does not hold."""

# Bound once: looking a member up on its class costs more than the rest of a test (Python 3.11).
_SERVE: Final = Action.SERVE

_BEFORE_BODY_BYTES: Final = 8
"""API, version and correlation id."""

Truth = tuple[object, ...]


class Asker(NamedTuple):
    """Everything of a connection that an answer may depend on."""

    listener_name: str
    security_protocol: str
    host: str
    controller: bool
    principal: Principal
    token_authenticated: bool
    software: ClientSoftware


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """An answer without its correlation id, and what it leaves behind.

    ``answered`` is the API and its error; ``allowed`` and ``denied`` count decisions, and ``told``
    are those that somebody records.
    """

    api_key: int
    size: bytes
    body: bytes
    answered: tuple[int, int]
    allowed: int
    denied: int
    told: tuple[Told, ...] = ()


class Decisions(Protocol):
    """What counts decisions: the guarded authorizer."""

    allowed: int
    denied: int
    told: list[Told] | None
    told_again: ToldAgain | None

    @property
    def traces(self) -> int:
        """Return how many lines were written about decisions."""
        ...


class Shelf:
    """The answers to one asker, all of them from one truth; shared by that asker's connections."""

    __slots__ = ("__weakref__", "answers", "held", "truth")

    def __init__(self) -> None:
        """Begin empty."""
        self.answers: dict[bytes, Remembered] = {}
        self.held = 0
        self.truth: Truth | None = None

    def forget(self) -> None:
        """Keep nothing."""
        self.answers.clear()
        self.held = 0


class AnswerMemory:
    """The answers of one server. A shelf lives as long as a connection of its asker."""

    def __init__(
        self,
        truth: Callable[[str], Truth | None],
        decisions: Decisions | None,
        limits: Limits,
    ) -> None:
        """Take where the truth about a listener comes from; None is a truth that nobody knows."""
        self.truth = truth
        self.decisions = decisions
        self.repeated = 0
        """How many answers were given again."""
        self.limits = limits
        self._held = 0
        self._shelves: WeakValueDictionary[Asker, Shelf] = WeakValueDictionary()

    @property
    def held(self) -> int:
        """Return how many bytes are kept."""
        return sum(shelf.held for shelf in self._shelves.values())

    def shelf(self, asker: Asker) -> Shelf:
        """Return the shelf of an asker, made where there is none."""
        shelf = self._shelves.get(asker)
        if shelf is None:
            shelf = self._shelves[asker] = Shelf()
        return shelf

    def keep(self, shelf: Shelf, request: bytes, answer: Remembered) -> None:
        """Put an answer on a shelf; forget everything first where that would be too much."""
        size = len(request) + len(answer.body)
        # What connections that have left took with them is noticed when the sum says too much.
        self._held += size
        if self._held > self.limits.answers_kept_bytes_max:
            self._held = self.held + size
        if self._held > self.limits.answers_kept_bytes_max:
            for each in self._shelves.values():
                each.forget()
            self._held = size
        shelf.answers[request] = answer
        shelf.held += size


class Recollection:
    """One connection's part in the memory."""

    __slots__ = (
        "_answered",
        "_counts",
        "_limits",
        "_listener_name",
        "_memory",
        "_peer",
        "_session",
        "_shelf",
    )

    def __init__(
        self,
        memory: AnswerMemory,
        peer: Peer,
        session: Session,
        limits: ClientLimits,
        counts: Counts,
        answered: list[tuple[int, int]],
    ) -> None:
        """Take the memory, and what of the connection answers depend on or count in."""
        self._memory = memory
        self._peer = peer
        self._session = session
        self._limits = limits
        self._counts = counts
        self._answered = answered
        self._listener_name = peer.listener_name
        self._shelf: Shelf | None = None

    def forget_asker(self) -> None:
        """Note that the connection may have become somebody else's, or other software's."""
        self._shelf = None

    def repeated(self, asked: bytes, correlation_id: bytes, now_s: float) -> bytes | None:
        """Return the answer to a request that is admitted, if there is one that is still true.

        ``asked`` is as ``question`` returns it.
        """
        answers = self._answers()
        found = None if answers is None else answers.get(asked)
        if found is None or not (self._session.expires_s is None or self._admits(found, now_s)):
            return None
        return self._given(found, correlation_id, now_s)

    def repeated_in_a_row(
        self, frames: Iterable[bytes], now_s: float, answers_max: int, bytes_max: int
    ) -> list[bytes]:
        """Return the answers to these frames, up to the first that has none.

        There are at most so many, and none begins when they have so many bytes. The truth is asked
        for once: nothing else runs in between.
        """
        given: list[bytes] = []
        answers = self._answers()
        if not answers:
            return given
        limited = self._session.expires_s is not None
        asked_bytes_max = self._memory.limits.request_kept_bytes_max
        for frame in islice(frames, answers_max):
            if len(frame) > asked_bytes_max:
                break
            found = answers.get(question(frame))
            if found is None or bytes_max <= 0 or (limited and not self._admits(found, now_s)):
                break
            given.append(self._given(found, frame[4:8], now_s))
            bytes_max -= len(given[-1])
        return given

    def _answers(self) -> dict[bytes, Remembered] | None:
        """Return what is kept for this asker and still true."""
        if not self._session.is_open:
            return None
        shelf = self._shelf or self._take_shelf()
        truth = self._memory.truth(self._listener_name)
        if truth is None or truth != shelf.truth:
            shelf.forget()
            return None
        return shelf.answers

    def _admits(self, found: Remembered, now_s: float) -> bool:
        """Say whether a session that ends takes such a request; others take all of them."""
        return self._session.admit(found.api_key, now_s) is _SERVE

    def _given(self, found: Remembered, correlation_id: bytes, now_s: float) -> bytes:
        """Return the frame of an answer; what it left behind when it was made is left again."""
        memory = self._memory
        self._counts.requests += 1
        memory.repeated += 1
        decisions = memory.decisions
        if decisions is not None:
            decisions.allowed += found.allowed
            decisions.denied += found.denied
            for told in found.told:
                if told.count:
                    told.count += 1
                    told.last_s = now_s
                    told.last_correlation_id = correlation_id
                elif (told_again := decisions.told_again) is not None:
                    told_again(told, correlation_id)
        self._answered.append(found.answered)
        return found.size + correlation_id + found.body

    def watch(self, api_key: int, notes: Sized) -> Watch | None:
        """Begin to watch what a request leaves behind; None where its answer is not kept."""
        decisions = self._memory.decisions
        if decisions is not None:
            decisions.told = None
        if api_key not in APIS or not self._session.is_open:
            return None
        if api_key == ApiKey.API_VERSIONS:
            # The request says what the software is.
            self._shelf = None
        truth = self._memory.truth(self._listener_name)
        if truth is None:
            return None
        if decisions is not None:
            decisions.told = []
        return Watch(truth, *self._marks(notes))

    def left(self, watch: Watch, notes: Sized) -> LeftBehind | None:
        """Return what a request has left behind since; None where that cannot be left again."""
        allowed, denied, *others = self._marks(notes)
        if others != [watch.traces, watch.trailing, watch.withheld, watch.notes]:
            return None
        decisions = self._memory.decisions
        told = () if decisions is None or decisions.told is None else tuple(decisions.told)
        return LeftBehind(watch.truth, allowed - watch.allowed, denied - watch.denied, told)

    def keep(
        self, left: LeftBehind, frame: bytes, answer: bytes, answered: tuple[int, int]
    ) -> None:
        """Keep an answer, if it is still true."""
        limits = self._memory.limits
        if len(answer) > limits.answer_kept_bytes_max:
            return
        if not _BEFORE_BODY_BYTES < len(frame) <= limits.request_kept_bytes_max:
            return
        # Behind ApiVersions the connection may be of other software: such an answer stands on the
        # shelf of the software that it introduces, where only those find it who have told already.
        shelf = self._take_shelf()
        if self._memory.truth(self._listener_name) != left.truth:
            return
        if shelf.truth != left.truth:
            shelf.forget()
            shelf.truth = left.truth
        made = Remembered(
            api_key=int.from_bytes(frame[:2]),
            size=answer[:4],
            body=answer[8:],
            answered=answered,
            allowed=left.allowed,
            denied=left.denied,
            told=left.told,
        )
        self._memory.keep(shelf, question(frame), made)

    def _marks(self, notes: Sized) -> tuple[int, int, int, int, int, int]:
        decisions, counts = self._memory.decisions, self._counts
        others = (counts.trailing_bytes, counts.withheld_acls, len(notes))
        if decisions is None:
            return (0, 0, 0, *others)
        return (decisions.allowed, decisions.denied, decisions.traces, *others)

    def _take_shelf(self) -> Shelf:
        peer, session = self._peer, self._session
        asker = Asker(
            peer.listener_name,
            peer.security_protocol,
            peer.host,
            peer.controller,
            session.principal,
            session.token_authenticated,
            self._limits.client,
        )
        self._shelf = shelf = self._memory.shelf(asker)
        return shelf


def question(frame: bytes) -> bytes:
    """Return what a frame asks: its size, then all of it but the correlation id.

    Bytes off the socket without their bytes 8 to 12 that are equal to it are such a frame, whole
    and alone, if it goes on behind the correlation id.
    """
    return len(frame).to_bytes(4) + frame[:4] + frame[8:]


def recollection(
    memory: AnswerMemory | None,
    peer: Peer,
    session: Session,
    limits: ClientLimits,
    counts: Counts,
    answered: list[tuple[int, int]],
) -> Recollection | None:
    """Return a connection's part in the memory; None where nothing is remembered."""
    if memory is None:
        return None
    return Recollection(memory, peer, session, limits, counts, answered)


class Watch(NamedTuple):
    """How things stood before a request was handled."""

    truth: Truth
    allowed: int
    denied: int
    traces: int
    trailing: int
    withheld: int
    notes: int


class LeftBehind(NamedTuple):
    """What a request has left behind, and the truth that it was handled by.

    ``allowed`` and ``denied`` count decisions, and ``told`` are those that somebody records.
    """

    truth: Truth
    allowed: int
    denied: int
    told: tuple[Told, ...]

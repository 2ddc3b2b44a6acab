"""The records of one partition as a share group sees them: who has which, and which are done.

A state machine of runs of offsets; the time is an argument. The runs begin at ``start_offset``, the
first offset that is not done, and end before ``end_offset``, the first that was never acquired.

    AVAILABLE  was released, and may be acquired again
    ACQUIRED   a member has it until its lock ends
    DONE       was accepted or rejected, or was delivered as often as it may be

Source: ``SharePartition`` and ``InFlightState`` of Kafka 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from doorkeeper.base.errors import ApiError, ErrorCode

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
"""The types of acknowledgements."""

ACQUIRED_MAX: Final = 10_000
"""The records that one request acquires of a partition; a broker goes on to the end of a batch."""

RUNS_MAX: Final = 200_000
"""The runs of all groups, and partitions: some 40 MB. Beyond it nothing is cut into more."""

_THROTTLED_FROM_MIN: Final = 2


class Budget:
    """How many runs and partitions all share groups have."""

    def __init__(self) -> None:
        self.used = 0


class _State(Enum):
    AVAILABLE = auto()
    ACQUIRED = auto()
    DONE = auto()


class Acquired(NamedTuple):
    """Records that a member has acquired, and how often they were delivered."""

    first: int
    last: int
    deliveries: int


class Acknowledged(NamedTuple):
    """Records of one type in an acknowledgement."""

    first: int
    last: int
    type: int


class Terms(NamedTuple):
    """The conditions of an acquisition: ``group.share.*`` and the fields of the request.

    ``is_exact`` is true where never more than ``records_max`` may be acquired.
    """

    records_max: int
    batch_size: int
    is_exact: bool
    deliveries_max: int
    in_flight_max: int
    lock_ms: int


class _Run(NamedTuple):
    """Offsets in one state; ``size`` is the number that were acquired together at first."""

    first: int
    last: int
    state: _State
    deliveries: int
    size: int
    member_id: str = ""
    lock_ends_ms: int = 0

    @property
    def records(self) -> int:
        return self.last - self.first + 1

    def released(self, deliveries_max: int) -> _Run:
        """Return the run without its member: to be acquired again, unless it was often enough."""
        state = _State.DONE if self.deliveries >= deliveries_max else _State.AVAILABLE
        return self._replace(state=state, member_id="", lock_ends_ms=0)


class SharePartition:
    """The records of one partition for one group."""

    def __init__(self, start_offset: int, budget: Budget) -> None:
        self._budget = budget
        budget.used += 1
        self.start_offset = start_offset
        self.end_offset = start_offset
        self._runs: list[_Run] = []
        self.stored_offset: int | None = None
        """What DescribeShareGroupOffsets shows: a broker stores it with the first change."""
        self.next_deadline_ms: int | None = None
        """When a lock ends, or earlier."""
        self.waiters: set[Callable[[], None]] = set()
        """Called after records have become available again, and when others may be acquired."""

    @property
    def in_flight(self) -> int:
        """Return the number of records between start and end."""
        return self.end_offset - self.start_offset

    @property
    def done(self) -> int:
        """Return the number of records behind the start that are done."""
        return sum(each.records for each in self._runs if each.state is _State.DONE)

    def next_offset(self, in_flight_max: int) -> int | None:
        """Return the first offset that may be acquired; None while too many are in flight."""
        for run in self._runs:
            if run.state is _State.AVAILABLE:
                return run.first
        return self.end_offset if self.in_flight < in_flight_max else None

    # --- acquiring

    def acquire(
        self,
        member_id: str,
        batches: Sequence[tuple[int, int]],
        terms: Terms,
        now_ms: int,
    ) -> list[Acquired]:
        """Acquire records of batches that were read: first and last offsets, in order."""
        first, last = max(batches[0][0], self.start_offset), batches[-1][1]
        lock_ends_ms = now_ms + terms.lock_ms
        room = terms.in_flight_max - self.in_flight
        runs: list[_Run] = []
        acquired: list[Acquired] = []
        left = terms.records_max
        for run in self._runs:
            if run.state is not _State.AVAILABLE or left <= 0 or run.last < first:
                runs.append(run)
                continue
            count = self._share_of(run, first, last, left, terms, is_first=not acquired)
            if count <= 0:
                runs.append(run)
                continue
            before, piece, after = _cut(run, max(run.first, first), max(run.first, first) + count)
            piece = piece._replace(
                state=_State.ACQUIRED,
                deliveries=run.deliveries + 1,
                member_id=member_id,
                lock_ends_ms=lock_ends_ms,
            )
            runs += [each for each in (before, piece, after) if each is not None]
            acquired.append(Acquired(piece.first, piece.last, piece.deliveries))
            left -= count
            if _is_throttled(run, terms.deliveries_max):
                left = 0
        end = self.end_offset
        if left > 0 and room > 0 and last >= end:
            for part in self._new_parts(batches, min(left, room), terms):
                runs.append(
                    _Run(*part, _State.ACQUIRED, 1, part[1] - part[0] + 1, member_id, lock_ends_ms)
                )
                acquired.append(Acquired(*part, 1))
                end = part[1] + 1
        if not acquired or not self._put(runs):
            return []
        self.end_offset = end
        self._lock(lock_ends_ms)
        return acquired

    def _put(self, runs: list[_Run]) -> bool:
        """Take other runs; return whether there is room for so many."""
        more = len(runs) - len(self._runs)
        if more > 0 and self._budget.used + more > RUNS_MAX:
            return False
        self._budget.used += more
        self._runs = runs
        return True

    def close(self) -> None:
        """Forget all runs: the partition is of no group any more."""
        self._budget.used -= len(self._runs) + 1
        self._runs = []
        self._wake()

    @staticmethod
    def _share_of(
        run: _Run, first: int, last: int, left: int, terms: Terms, *, is_first: bool
    ) -> int:
        """Return how many records of a released run are acquired."""
        count = min(run.last, last) - max(run.first, first) + 1
        if _is_throttled(run, terms.deliveries_max):
            if not is_first:
                return 0
            # Fewer each time, and at last one, so that one bad record does not take others along.
            halvings = run.deliveries - _throttled_from(terms.deliveries_max) + 1
            is_last = terms.deliveries_max > 2 and run.deliveries == terms.deliveries_max - 1
            count = min(count, 1 if is_last else max(1, run.size >> halvings))
        return min(count, left) if terms.is_exact else count

    def _new_parts(
        self, batches: Sequence[tuple[int, int]], room: int, terms: Terms
    ) -> Iterator[tuple[int, int]]:
        """Yield first and last offsets of records that were never acquired, to acquire now."""
        first = self.end_offset
        limit = first + room - 1
        if not terms.is_exact:
            limit = next((last for _, last in batches if last >= limit), limit)
        limit = min(limit, batches[-1][1], first + ACQUIRED_MAX - 1)
        for base, _ in batches:
            if base > limit:
                break
            if not terms.is_exact and base - first >= max(terms.batch_size, 1):
                yield first, base - 1
                first = base
        yield first, limit

    def _lock(self, ends_ms: int) -> None:
        present = self.next_deadline_ms
        self.next_deadline_ms = ends_ms if present is None else min(present, ends_ms)

    # --- acknowledging

    def acknowledge(
        self,
        member_id: str,
        parts: Iterable[Acknowledged],
        deliveries_max: int,
        lock_ends_ms: int,
    ) -> None:
        """Change the records of parts, which are in order; all of them or none.

        Raises:
            ApiError: a record is not acquired by the member.
        """
        runs: list[_Run] = []
        rest = list(reversed(self._runs))
        for part in parts:
            if part.last < self.start_offset:
                continue
            self._check_range(part)
            first = max(part.first, self.start_offset)
            while first <= part.last:
                run = rest.pop() if rest else None
                if run is None or run.first > first:
                    raise ApiError(ErrorCode.INVALID_RECORD_STATE, _NOT_ACQUIRED)
                if run.last < first:
                    runs.append(run)
                    continue
                before, piece, after = _cut(run, first, min(run.last, part.last) + 1)
                if after is not None:
                    rest.append(after)
                if before is not None:
                    runs.append(before)
                _check_owner(piece, member_id)
                runs.append(_acknowledged(piece, part.type, deliveries_max, lock_ends_ms))
                first = piece.last + 1
                if part.type == RENEW:
                    self._lock(lock_ends_ms)
        self._take([*runs, *reversed(rest)])

    def _check_range(self, part: Acknowledged) -> None:
        text = "Batch record not found. "
        if not self._runs:
            text += "The request batch offsets are not found in the cache."
            raise ApiError(ErrorCode.INVALID_RECORD_STATE, text)
        for offset, name in ((part.first, "first"), (part.last, "last")):
            if offset >= self.end_offset:
                text += f"The {name} offset in request is past acquired records."
                raise ApiError(ErrorCode.INVALID_REQUEST, text)

    def release(self, member_id: str, deliveries_max: int) -> None:
        """Release all records that a member has."""
        self._change(
            lambda run: run.member_id == member_id, lambda run: run.released(deliveries_max)
        )

    def advance(self, now_ms: int, deliveries_max: int) -> None:
        """Release the records whose locks have ended."""
        self._change(
            lambda run: run.state is _State.ACQUIRED and run.lock_ends_ms <= now_ms,
            lambda run: run.released(deliveries_max),
        )
        self.next_deadline_ms = min(
            (each.lock_ends_ms for each in self._runs if each.state is _State.ACQUIRED),
            default=None,
        )

    def skip_to(self, offset: int) -> None:
        """Forget records before an offset: they were deleted."""
        if offset <= self.start_offset:
            return
        self.end_offset = max(self.end_offset, offset)
        self._put(
            [
                each._replace(first=max(each.first, offset))
                for each in self._runs
                if each.last >= offset
            ]
        )
        self.start_offset = offset

    def _change(self, is_changed: Callable[[_Run], bool], change: Callable[[_Run], _Run]) -> None:
        runs = [change(each) if is_changed(each) else each for each in self._runs]
        if runs != self._runs:
            self._take(runs)

    def _take(self, runs: list[_Run]) -> None:
        """Take runs: the start moves behind those that are done, and neighbours become one.

        Raises:
            ApiError: there is no room for so many.
        """
        joined: list[_Run] = []
        start = self.start_offset
        for run in runs:
            if run.state is _State.DONE:
                if not joined:
                    start = run.last + 1
                    continue
                if joined[-1].state is _State.DONE:
                    joined[-1] = joined[-1]._replace(last=run.last)
                    continue
            joined.append(run)
        if not self._put(joined):
            text = f"The server keeps no more than {RUNS_MAX} runs of records of share groups."
            raise ApiError(ErrorCode.INVALID_RECORD_STATE, text)
        self.start_offset = self.stored_offset = start
        self._wake()

    def _wake(self) -> None:
        for waiter in tuple(self.waiters):
            waiter()


_NOT_ACQUIRED: Final = "The offset cannot be acknowledged. The offset is not acquired."


def _check_owner(run: _Run, member_id: str) -> None:
    if run.state is not _State.ACQUIRED:
        raise ApiError(ErrorCode.INVALID_RECORD_STATE, _NOT_ACQUIRED)
    if run.member_id != member_id:
        raise ApiError(ErrorCode.INVALID_RECORD_STATE, "Member is not the owner of offset")


def _acknowledged(run: _Run, kind: int, deliveries_max: int, lock_ends_ms: int) -> _Run:
    if kind == RENEW:
        return run._replace(lock_ends_ms=lock_ends_ms)
    if kind == RELEASE:
        return run.released(deliveries_max)
    return run._replace(state=_State.DONE, member_id="", lock_ends_ms=0)


def _cut(run: _Run, first: int, end: int) -> tuple[_Run | None, _Run, _Run | None]:
    """Return the parts of a run before ``first``, from there up to ``end``, and from there on."""
    before = run._replace(last=first - 1) if run.first < first else None
    after = run._replace(first=end) if run.last >= end else None
    return before, run._replace(first=max(run.first, first), last=min(run.last, end - 1)), after


def _throttled_from(deliveries_max: int) -> int:
    return max(_THROTTLED_FROM_MIN, (deliveries_max + 1) // 2)


def _is_throttled(run: _Run, deliveries_max: int) -> bool:
    return run.deliveries >= _throttled_from(deliveries_max)

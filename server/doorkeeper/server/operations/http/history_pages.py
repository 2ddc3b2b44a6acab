"""The history of the store, as JSON in pages and as a stream of server-sent events.

    /history        the newest changes; since, until, principal, resource, author, kind, limit and
                    before as for doorkeeper history
    /history/watch  every change from now on, or behind Last-Event-ID, or from ``from`` on

A stream holds one part of the log at a time. Its reader has ``WRITE_S`` for each write, else the
connection is closed; it resumes with the last id.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeVar

from aiohttp import web

from doorkeeper.acls.model import Principal
from doorkeeper.server.operations.http.answers import JSON, Answer, Stream
from doorkeeper.server.runtime.clock import utc_ms
from doorkeeper.server.state.history.moments import parse_moment
from doorkeeper.server.state.history.reading import BeforeHistory
from doorkeeper.server.state.history.revisions import Revision, RevisionFilter, read_page
from doorkeeper.server.state.history.verification import RecordedHash
from doorkeeper.server.state.history.watching import next_revisions, parse_last
from doorkeeper.server.state.storage.portable import Portable
from doorkeeper.server.state.store import StorageError

T = TypeVar("T")

ReadHistory = Callable[[Callable[[Portable], Awaitable[Any]]], Awaitable[Any]]

EVENTS: Final = "text/event-stream"

LIMIT: Final = 100
LIMIT_MAX: Final = 1_000

LOOK_S: Final = 0.05
"""Interval of looks at the state's revision: a stream notices a change so much later."""

HEARTBEAT_S: Final = 15.0
"""Interval of comments in a stream without changes, so that proxies keep it open."""

_NUMBER_MAX: Final = (1 << 63) - 1

_TEXTS: Final = ("principal", "resource", "author", "kind")


class HistoryPages:
    """The pages."""

    def __init__(self, read: ReadHistory, head: Callable[[], int]) -> None:
        """``read`` calls a function with the open store, in a thread; ``head`` is its revision."""
        self._read_in_thread = read
        self._head = head
        self._one_at_a_time = asyncio.Lock()

    async def _read(self, work: Callable[[Portable], Awaitable[T]]) -> T:
        """Read and render in one thread: with several the event loop would wait for each of them.

        A change may have 10,000 ACLs, which take 0.2 s.
        """
        async with self._one_at_a_time:
            result: T = await self._read_in_thread(work)
        return result

    async def revisions(self, request: web.Request) -> Answer:
        """Return a page of the newest changes that match."""
        try:
            query = _Query(request)
            limit = query.number("limit", LIMIT, LIMIT_MAX)
            before = query.number("before", None)
            filter = query.filter()
        except ValueError as error:
            return _refusal(HTTPStatus.BAD_REQUEST, str(error))

        async def work(store: Portable) -> bytes:
            page = await read_page(store, filter, limit or LIMIT, before)
            return json.dumps(page.record()).encode() + b"\n"

        try:
            return Answer(HTTPStatus.OK, await self._read(work), JSON)
        except StorageError as error:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, str(error))

    async def watch(self, request: web.Request) -> Answer | Stream:
        """Return a stream of changes."""
        try:
            query = _Query(request)
            first = query.number("from", None)
            last = None if first is None else RecordedHash(first - 1, "")
            if last_id := request.headers.get("Last-Event-ID"):
                last = _parsed("Last-Event-ID", parse_last, last_id)
            filter = query.filter()
        except ValueError as error:
            return _refusal(HTTPStatus.BAD_REQUEST, str(error))
        try:
            # Before the stream, so that a revision that was pruned is an error page.
            begin, revisions = await self._read(partial(next_revisions, last=last))
        except BeforeHistory as error:
            return _refusal(HTTPStatus.GONE, str(error))
        except StorageError as error:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        # The revisions are read again: the stream may begin much later.
        return Stream(EVENTS, self._events(last if revisions and last else begin, filter))

    async def _events(self, last: RecordedHash, filter: RevisionFilter) -> AsyncIterator[bytes]:
        # An id without data is no event, and the place where a reader resumes.
        yield f"id: {last}\nretry: 1000\n\n".encode()
        heard_s = time.monotonic()
        while True:
            if self._head() <= last.revision:
                await asyncio.sleep(LOOK_S)
                if time.monotonic() - heard_s >= HEARTBEAT_S:
                    heard_s = time.monotonic()
                    yield b": no changes\n\n"
                continue
            try:
                last, events = await self._read(partial(_next_events, last=last, filter=filter))
            except StorageError:
                return  # the reader connects again, and gets the reason
            for event in events:
                heard_s = time.monotonic()
                yield event


async def _next_events(
    store: Portable, last: RecordedHash | None, filter: RevisionFilter
) -> tuple[RecordedHash, list[bytes]]:
    """Return the newest revision of the next part of the log, and the events in it."""
    newest, revisions = await next_revisions(store, last)
    return newest, [_event(revision) for revision in revisions if filter.matches(revision)]


def _event(revision: Revision) -> bytes:
    text = json.dumps(revision.record())
    last = RecordedHash(revision.revision, revision.hash)
    return f"id: {last}\nevent: change\ndata: {text}\n\n".encode()


def _parsed(name: str, parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


class _Query:
    """The parameters of a request."""

    def __init__(self, request: web.Request) -> None:
        self._values = request.query
        allowed = {*_TEXTS, "since", "until", "limit", "before", "from"}
        if unknown := sorted(set(self._values) - allowed):
            raise ValueError(f"found {unknown[0]!r}; allowed: {', '.join(sorted(allowed))}")

    def number(self, name: str, default: int | None, most: int = _NUMBER_MAX) -> int | None:
        text = self._text(name)
        if not text:
            return default
        # A longer number is an error of Python's, which does not say what is allowed.
        if not (text.isascii() and text.isdecimal() and len(text) < 20 and 1 <= int(text) <= most):
            raise ValueError(f"{name}: found {text!r:.100}; allowed: 1 to {most}")
        return int(text)

    def filter(self) -> RevisionFilter:
        texts = {name: frozenset(self._values.getall(name, ())) for name in _TEXTS}
        for name in ("principal", "author"):
            for principal in texts[name]:
                _parsed(name, Principal.parse, principal)
        return RevisionFilter(
            since_ms=self._time_ms("since"),
            until_ms=self._time_ms("until"),
            principals=texts["principal"],
            resources=texts["resource"],
            authors=texts["author"],
            kinds=texts["kind"],
        )

    def _time_ms(self, name: str) -> int | None:
        text = self._text(name)
        if not text:
            return None
        moment = parse_moment(text, utc_ms())
        if moment.time_ms is None:
            raise ValueError(f"{name}: found {text!r}; allowed: a time")
        return moment.time_ms

    def _text(self, name: str) -> str | None:
        """Return the last value of a parameter."""
        values: list[str] = self._values.getall(name, [])
        return values[-1] if values else None


def _refusal(status: HTTPStatus, text: str) -> Answer:
    return Answer(status, f"{text}\n".encode("utf-8", "backslashreplace"))

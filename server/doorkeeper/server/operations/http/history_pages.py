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
from typing import Any, Final

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

ReadHistory = Callable[[Callable[[Portable], Awaitable[Any]]], Awaitable[Any]]

EVENTS: Final = "text/event-stream"

LIMIT: Final = 100
LIMIT_MAX: Final = 1_000

LOOK_S: Final = 0.05
"""Interval of looks at the state's revision: a stream notices a change so much later."""

HEARTBEAT_S: Final = 15.0
"""Interval of comments in a stream without changes, so that proxies keep it open."""

_TEXTS: Final = ("principal", "resource", "author", "kind")


class HistoryPages:
    """The pages. ``read`` calls a function with the open store; ``head`` is the newest revision."""

    def __init__(self, read: ReadHistory, head: Callable[[], int]) -> None:
        self._read = read
        self._head = head

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
                last = parse_last(last_id)
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
                revisions: list[Revision]
                last, revisions = await self._read(partial(next_revisions, last=last))
            except StorageError:
                return  # the reader connects again, and gets the reason
            for revision in revisions:
                if filter.matches(revision):
                    heard_s = time.monotonic()
                    yield _event(revision)


def _event(revision: Revision) -> bytes:
    text = json.dumps(revision.record())
    last = RecordedHash(revision.revision, revision.hash)
    return f"id: {last}\nevent: change\ndata: {text}\n\n".encode()


class _Query:
    """The parameters of a request."""

    def __init__(self, request: web.Request) -> None:
        self._values = request.query
        allowed = {*_TEXTS, "since", "until", "limit", "before", "from"}
        if unknown := sorted(set(self._values) - allowed):
            raise ValueError(f"found {unknown[0]!r}; allowed: {', '.join(sorted(allowed))}")

    def number(self, name: str, default: int | None, most: int = (1 << 63) - 1) -> int | None:
        text = self._text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdecimal() and 0 < int(text) <= most):
            raise ValueError(f"{name}: found {text!r}; allowed: 1 to {most}")
        return int(text)

    def filter(self) -> RevisionFilter:
        texts = {name: frozenset(self._values.getall(name, ())) for name in _TEXTS}
        for name in ("principal", "author"):
            for principal in texts[name]:
                _check_principal(name, principal)
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


def _check_principal(name: str, text: str) -> None:
    try:
        Principal.parse(text)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _refusal(status: HTTPStatus, text: str) -> Answer:
    return Answer(status, f"{text}\n".encode("utf-8", "backslashreplace"))

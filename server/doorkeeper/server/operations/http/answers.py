"""Requests and answers of the operations port, as values."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Final, NamedTuple

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"


class Page(NamedTuple):
    """An answer. With ``stream`` its parts follow, each when there is one."""

    status: int
    body: bytes
    content_type: str = TEXT
    headers: Mapping[str, str] = {}
    guessed: bool = False
    """The request had wrong credentials: its answer is delayed."""
    stream: AsyncIterator[bytes] | None = None


class PageRequest(NamedTuple):
    """The parts of a request that pages use."""

    method: str
    path: str
    authorization: str
    accept: str
    query: Mapping[str, tuple[str, ...]] = {}
    last_event_id: str = ""

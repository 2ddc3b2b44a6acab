"""Answers of the operations port.

They are aiohttp's, of one request for each connection. They are not cached, and do not name the
software.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Final

from aiohttp import web

JSON: Final = "application/json"
TEXT: Final = "text/plain; charset=utf-8"


class _Bare(web.StreamResponse):
    guessed = False
    """The request had wrong credentials: its answer is delayed."""

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        self.headers.popall("Server", None)


class Answer(_Bare, web.Response):
    """A whole answer."""

    def __init__(
        self,
        status: int,
        body: bytes,
        content_type: str = TEXT,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        fields = {"Content-Type": content_type, "Cache-Control": "no-store", **(headers or {})}
        super().__init__(status=status, body=body, headers=fields)
        self.force_close()


class Stream(_Bare):
    """An answer whose parts follow, each when there is one."""

    def __init__(self, content_type: str, parts: AsyncIterator[bytes]) -> None:
        fields = {"Content-Type": content_type, "Cache-Control": "no-store"}
        super().__init__(headers=fields)
        self.parts = parts
        self.force_close()


def status_answer(status: int, headers: Mapping[str, str] | None = None) -> Answer:
    """Return the status as a text: ``404 Not Found``."""
    return Answer(status, f"{status} {HTTPStatus(status).phrase}\n".encode(), headers=headers)


def json_answer(content: Mapping[str, object], *, ok: bool = True) -> Answer:
    status = HTTPStatus.OK if ok else HTTPStatus.SERVICE_UNAVAILABLE
    return Answer(status, json.dumps(content).encode() + b"\n", JSON)

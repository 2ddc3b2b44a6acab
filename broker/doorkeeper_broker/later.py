"""Answers of state machines that may come at once or later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from doorkeeper.server.api.node import DelayedResponse, Outcome, Response

T = TypeVar("T")


class Answer(Generic[T]):
    """Takes one answer; a request whose answer is missing waits for it."""

    def __init__(self) -> None:
        self._found: T | None = None
        self._waiting: asyncio.Future[T] | None = None

    def take(self, answer: T) -> None:
        """Take the answer; a second one is ignored, and so is one that nothing waits for."""
        if self._waiting is None:
            self._found = answer
        elif not self._waiting.done():
            self._waiting.set_result(answer)

    def outcome(self, respond: Callable[[T], Response]) -> Outcome:
        """Return the response if the answer is there, else one that waits for it."""
        if self._found is not None:
            return respond(self._found)
        self._waiting = asyncio.get_running_loop().create_future()
        return DelayedResponse(_respond(self._waiting, respond))


async def _respond(waiting: asyncio.Future[T], respond: Callable[[T], Response]) -> Response:
    return respond(await waiting)

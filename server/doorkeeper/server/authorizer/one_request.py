"""The authorizer of one large request, which a thread handles while the event loop serves others.

An authorizer that answers at once does so in the thread, by the state of when the request began.
What its decisions do besides waits for the event loop: counters, and events of the audit log, in
slices. Calls of any other authorizer run on the event loop, as for every request, with at most
``ACTIONS_MAX`` actions.

The authorizer log has the first ``LINES_MAX`` denials of the request, then one line with the number
of the others. Allowed accesses, which only the level DEBUG logs, are all there: whether an ACL is
used is read from them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from doorkeeper.base.slices import SLICE_ITEMS, Slices
from doorkeeper.server.authorizer.authorizer_log import DEBUG, INFO, line_of_others
from doorkeeper.server.authorizer.contract import (
    Action,
    AuthorizationResult,
    AuthorizerLog,
)
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.standard import StandardAuthorizer
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

LINES_MAX: Final = 100
"""Denials of one large request that the authorizer log has one by one; about 40 kB."""

ACTIONS_MAX: Final = 1_000
"""Actions of one call of another authorizer; it may raise ``DecisionPending`` for all of them."""

_NONE: Final = 100
"""A level above all levels."""

_DENIED: Final = AuthorizationResult.DENIED


class BoundedLog:
    """The authorizer log during one request: at most ``LINES_MAX`` denials, then a threshold."""

    __slots__ = ("_log", "lines", "threshold")

    def __init__(self, log: AuthorizerLog) -> None:
        self._log = log
        self.lines = 0
        """Denials so far that were to be logged, the omitted ones included at level DEBUG alone."""
        self.threshold = self

    @property
    def level(self) -> int:
        """Return the lowest level that is written."""
        level = self._log.threshold.level
        # Omitted lines are not even formatted; at level DEBUG the allowed ones still are.
        return level if self.lines < LINES_MAX or level <= DEBUG else _NONE

    def write(self, level: int, text: str) -> None:
        if level == INFO:
            self.lines += 1
            if self.lines > LINES_MAX:
                return
        self._log.write(level, text)


class RequestAuthorizer(GuardedAuthorizer):
    """The guard of a copy of the standard authorizer, which one request asks in any thread.

    ``write_omitted`` in that thread, then ``settle`` on the event loop.
    """

    def __init__(self, guard: GuardedAuthorizer, authorizer: StandardAuthorizer) -> None:
        self._log = authorizer.authorizer_log
        self._own = authorizer.at_one_state(BoundedLog(self._log))
        # A slow call delays nobody here.
        super().__init__(self._own, slow_ms=sys.maxsize)
        self.on_decision = self._note
        self._guard = guard
        self._context: AuthorizableRequestContext | None = None
        self._denials = 0
        self._made: list[
            tuple[AuthorizableRequestContext, Sequence[Action], Sequence[AuthorizationResult]]
        ] = []

    def _note(
        self,
        context: AuthorizableRequestContext,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
        _basis: StandardAuthorizer | None,
    ) -> None:
        self._context = context
        for action, result in zip(actions, results, strict=True):
            if result is _DENIED and action.log_if_denied:
                self._denials += 1
        if self._guard.on_decision is not None:
            self._made.append((context, actions, results))

    def write_omitted(self) -> None:
        """Write the number of the denials that the log does not have one by one."""
        omitted = self._denials - LINES_MAX
        if self._context is not None and omitted > 0 and self._log.threshold.level <= INFO:
            self._log.write(INFO, line_of_others(self._context, omitted))

    def settle(self) -> Slices[None]:
        """Count and record the decisions."""
        guard = self._guard
        guard.allowed += self.allowed
        guard.denied += self.denied
        guard.faults += self.faults
        on_decision = guard.on_decision
        if on_decision is not None:
            for context, actions, results in self._made:
                for at in range(0, len(actions), SLICE_ITEMS):
                    part = slice(at, at + SLICE_ITEMS)
                    on_decision(context, actions[part], results[part], self._own)
                    yield


class LoopAuthorizer:
    """What one request asks any other authorizer, from any thread; the event loop calls it."""

    def __init__(self, reads: object) -> None:
        self._reads: Any = reads  # see ``OnLoop``

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self._reads, name)
        return method

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Ask for a part of the actions at a time, so that others are served in between."""
        results: list[AuthorizationResult] = []
        for at in range(0, len(actions), ACTIONS_MAX):
            results += self._reads.authorize(context, actions[at : at + ACTIONS_MAX])
        return results


def reads_of(authorizer: object, on_loop: Callable[[object], Any]) -> Any:  # noqa: ANN401 - what handlers ask of it
    """Return what a handler in a thread asks instead of an authorizer; None without one.

    ``on_loop`` returns an object that calls the methods of another one on the event loop.
    """
    if authorizer is None:
        return None
    if isinstance(authorizer, GuardedAuthorizer):
        at_once = authorizer.for_thread()
        if at_once is not None:
            return RequestAuthorizer(authorizer, at_once)
    return LoopAuthorizer(on_loop(authorizer))

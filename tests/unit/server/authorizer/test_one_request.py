"""The authorizer of a large request: its log lines, its state, and what is settled after it."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.acls.bulk import load
from doorkeeper.base.slices import SLICE_ITEMS, run_to_end
from doorkeeper.server.authorizer.authorizer_log import DEBUG, INFO
from doorkeeper.server.authorizer.contract import Action, AuthorizationResult
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.one_request import (
    ACTIONS_MAX,
    LINES_MAX,
    LoopAuthorizer,
    reads_of,
)
from doorkeeper.server.runtime.threads import OnLoop
from testkit.acl import DESCRIBE, READ, allow, request_of, topic
from testkit.authorizers import CollectedAuthorizerLog, decide_from, started

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

ALLOWED, DENIED = AuthorizationResult.ALLOWED, AuthorizationResult.DENIED
MALLORY = request_of("mallory", api_key=3)
MANY = [Action(READ, topic(f"t{number}")) for number in range(1000)]


@pytest.mark.parametrize(("level", "allowed_lines"), [(INFO, 0), (DEBUG, 300)])
async def test_denial_log_lines_are_limited(level: int, allowed_lines: int) -> None:
    log = CollectedAuthorizerLog(level)
    binding = allow("mallory", DESCRIBE, topic("mine"))
    guard = GuardedAuthorizer(await started(binding, authorizer_log=log))

    reads = reads_of(guard, lambda each: each)
    # One at a time, as some handlers ask: what counts is the request.
    for action in MANY:
        assert reads.authorize(MALLORY, [action]) == [DENIED]
    assert reads.authorize(MALLORY, [Action(DESCRIBE, topic("mine"))] * 300) == [ALLOWED] * 300
    reads.write_omitted()

    denials = [text for written, text in log.lines if written == INFO]
    assert len(denials) == LINES_MAX + 1
    assert len(log.lines) - len(denials) == allowed_lines
    assert denials[-1] == (
        "Principal = User:mallory is Denied on 900 more resources from host = 10.0.0.1 for request"
        " = Metadata: a large request has no lines for them"
    )


async def test_decisions_are_counted_after_the_thread() -> None:
    standard = await started(allow("mallory", READ, MANY[0].resource))
    guard = GuardedAuthorizer(standard)
    recorded: list[tuple[int, int]] = []

    def record(
        _context: AuthorizableRequestContext,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
        basis: Any,
    ) -> None:
        assert len(actions) == len(results) <= SLICE_ITEMS
        recorded.append((len(actions), basis.snapshot.count))

    guard.on_decision = record
    reads = reads_of(guard, lambda each: each)
    decide_from(standard, load([]))

    found = await asyncio.to_thread(reads.authorize, MALLORY, MANY)
    assert (guard.allowed, guard.denied, recorded) == (0, 0, [])
    run_to_end(reads.settle())

    assert found == [ALLOWED] + [DENIED] * 999
    assert (guard.allowed, guard.denied) == (1, 999)
    assert sum(count for count, _ in recorded) == 1000
    assert {acls for _, acls in recorded} == {1}


class Plugin(GuardedAuthorizer):
    """Notes who asks, for how much."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        self.calls.append((threading.current_thread().name, len(actions)))
        if context.correlation_id == 13:
            raise ValueError("13")
        return [ALLOWED] * len(actions)

    def for_thread(self) -> None:
        """Be asked by no thread."""


async def test_plug_ins_are_called_on_the_event_loop() -> None:
    plugin = Plugin()
    reads = reads_of(plugin, partial(OnLoop, loop=asyncio.get_running_loop()))
    assert isinstance(reads, LoopAuthorizer)

    assert await asyncio.to_thread(reads.authorize, MALLORY, MANY * 3) == [ALLOWED] * 3000
    with pytest.raises(ValueError, match="13"):
        await asyncio.to_thread(reads.authorize, MALLORY._replace(correlation_id=13), MANY)

    assert {thread for thread, _ in plugin.calls} == {threading.current_thread().name}
    assert [count for _, count in plugin.calls] == [ACTIONS_MAX] * 4

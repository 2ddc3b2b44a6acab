"""Updates that an authorizer completes as it likes, over real sockets, on both event loops."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.plugins import AclBinding, AclCreateResult, ApiError, ErrorCode
from doorkeeper.server.net.limits import Limits
from doorkeeper_wire.messages.create_acls import CreateAclsResponse
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from testkit.edge import (
    LOOP_KINDS,
    Edge,
    HandAuthorizer,
    create,
    describe,
    done,
    edge,
    run,
    until,
)
from testkit.load import scaled

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.parametrize("kind", LOOP_KINDS)

Created = Callable[[Sequence[AclBinding]], Any]

OK = AclCreateResult()


def refused(code: ErrorCode) -> AclCreateResult:
    return AclCreateResult(ApiError(code))


def served(
    kind: str,
    created: Created,
    scenario: Callable[[Edge], Coroutine[Any, Any, None]],
    limits: Limits | None = None,
) -> None:
    """Run a scenario; afterwards nothing waits, and another client is served."""

    async def main() -> None:
        async with edge(authorizer=HandAuthorizer(created), limits=limits) as running:
            await scenario(running)
            await until(lambda: not running.server.context.updates)
            client = await running.client()
            await client.call(describe("still here"), DescribeAclsResponse, 3)

    run(kind, main())


async def codes(running: Edge, *names: str) -> list[int]:
    """Create one ACL for each name; return the codes of the answer."""
    client = await running.client()
    answer = await client.call(create(names), CreateAclsResponse, 3)
    return [row.error_code for row in answer.results]


@contextmanager
def pool() -> Iterator[concurrent.futures.ThreadPoolExecutor]:
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        yield threads


def test_updates_completed_by_threads_out_of_order(kind: str) -> None:
    turns = [threading.Event() for _ in range(5)]
    turns[4].set()

    def work(number: int) -> AclCreateResult:
        assert turns[number + 1].wait(scaled(20))
        turns[number].set()
        return refused(ErrorCode(41 + number)) if number else OK

    with pool() as threads:

        def created(bindings: Sequence[AclBinding]) -> Any:
            return [threads.submit(work, number) for number in range(len(bindings))]

        async def scenario(running: Edge) -> None:
            assert await codes(running, "a", "b") == [0, 42]

        turns[2].set()
        served(kind, created, scenario)


async def _raises(error: BaseException) -> AclCreateResult:
    raise error


@pytest.mark.parametrize(
    ("awaitable", "code"),
    [
        (lambda: _raises(SystemExit(3)), -1),
        (lambda: _raises(ApiError(ErrorCode.INVALID_REQUEST, "no")), 42),
        (lambda: done(None), -1),
        (lambda: OK, -1),
    ],
    ids=["exits", "refuses", "none", "no awaitable"],
)
def test_failed_item_does_not_affect_others(
    kind: str, awaitable: Callable[[], Awaitable[Any]], code: int
) -> None:
    """-1 for that item alone, whatever it is; an ApiError that is raised has its own code."""

    def created(bindings: Sequence[AclBinding]) -> Any:
        return [done(OK), awaitable(), done(OK)]

    async def scenario(running: Edge) -> None:
        assert await codes(running, "a", "b", "c") == [0, code, 0]

    served(kind, created, scenario)


def test_late_and_missing_results(kind: str) -> None:
    """What has not come in time is 7, what has is answered, and a late end disturbs nobody."""
    late: list[asyncio.Future[AclCreateResult]] = []

    def created(bindings: Sequence[AclBinding]) -> Any:
        loop = asyncio.get_running_loop()
        late.append(loop.create_future())
        return [late[0], done(OK), loop.create_future()]

    async def scenario(running: Edge) -> None:
        assert await codes(running, "a", "b", "c") == [7, 0, 7]
        late[0].set_exception(RuntimeError("too late"))
        line = running.log.one("items of a change timed out")
        assert (line.fields["timed_out"], line.fields["correlation_id"]) == (2, 1)

    served(kind, created, scenario, Limits(update_timeout_ms=30))


def test_excessive_updates_are_rejected(kind: str) -> None:
    """Beyond the bound a change is 89, before the authorizer is asked; later it is taken again."""
    futures: list[asyncio.Future[AclCreateResult]] = []

    def created(bindings: Sequence[AclBinding]) -> Any:
        made = [asyncio.get_running_loop().create_future() for _ in bindings]
        futures.extend(made)
        return made

    async def scenario(running: Edge) -> None:
        first, second = await running.client(), await running.client()
        await first.send(create(["a", "b", "c", "d"]))  # alone, it may be as large as it likes
        await until(lambda: len(futures) == 4)

        answer = await second.call(create(["e"]), CreateAclsResponse, 3)
        assert [row.error_code for row in answer.results] == [89]
        assert len(futures) == 4
        assert running.log.one("change rejected: too many changes are waiting for the authorizer")

        for future in futures:
            future.set_result(OK)
        await first.frame()
        await second.send(create(["e"], 2))
        await until(lambda: len(futures) == 5)
        futures[4].set_result(OK)
        await second.frame()

    served(kind, created, scenario, Limits(updates_waiting_max=3))


def test_other_requests_are_served_while_updates_wait(kind: str) -> None:
    """With 20 updates waiting, requests of other connections are answered, new ones too."""
    futures: list[asyncio.Future[AclCreateResult]] = []

    def created(bindings: Sequence[AclBinding]) -> Any:
        futures.append(asyncio.get_running_loop().create_future())
        return futures[-1:]

    async def scenario(running: Edge) -> None:
        other = await running.client()
        waiting = [await running.client() for _ in range(20)]
        for client in waiting:
            await client.send(create(["a"]))
        await until(lambda: len(futures) == 20)
        for client in (other, await running.client()):
            found = await client.call(describe("other"), DescribeAclsResponse, 3)
            assert found.error_message == "other"
        assert len(running.server.context.updates) == 20
        for future in futures:
            future.set_result(OK)
        for client in waiting:
            await client.frame()

    served(kind, created, scenario)


def test_requests_after_an_update_keep_their_order(kind: str) -> None:
    """On one connection update, question, update, question are answered in that order."""
    futures: list[asyncio.Future[AclCreateResult]] = []

    def created(bindings: Sequence[AclBinding]) -> Any:
        futures.append(asyncio.get_running_loop().create_future())
        return futures[-1:]

    def has_begun(number: int) -> bool:
        return len(futures) == number

    async def scenario(running: Edge) -> None:
        client = await running.client()
        await client.send(create(["a"], 1) + describe("x", 2) + create(["b"], 3) + describe("y", 4))
        for number in (1, 2):
            await until(partial(has_begun, number))
            futures[-1].set_result(OK)
        found = [int.from_bytes((await client.frame())[:4]) for _ in range(4)]
        assert found == [1, 2, 3, 4]

    served(kind, created, scenario)

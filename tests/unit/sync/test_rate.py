"""The rate of changes, on a clock of the test."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.live_changes import stages
from doorkeeper.acls.plan import EVERYTHING, SelectorUnion
from doorkeeper.sync import remote as remote_module
from doorkeeper.sync.config import ClusterConfig
from doorkeeper.sync.remote import RemoteCluster
from testkit.acl import READ, allow, topic
from testkit.loop_clock import LoopClock
from testkit.synchronized import target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.testing import DoorkeeperServer

BINDINGS = tuple(allow(f"user-{number}", READ, topic("pay-in")) for number in range(25))


@pytest.fixture
def kafka() -> Iterator[DoorkeeperServer]:
    with target(BINDINGS[:5]) as found:
        yield found


@pytest.mark.parametrize(
    ("rate", "pauses_s"), [(0, []), (10, [1.0, 1.0]), (100, [0.1, 0.1]), (5, [1.0] * 4)]
)
async def test_change_rate_is_limited(
    kafka: DoorkeeperServer, rate: int, pauses_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of additions and removals alike: 10 ACLs at 10 in a second take one; 0 is no limit."""
    config = ClusterConfig(
        "a", kafka.bootstrap_servers, {}, SelectorUnion((EVERYTHING,)), rate=rate, batch=10
    )
    clock = LoopClock(0.0)
    remote = RemoteCluster(config, set())
    monkeypatch.setattr(remote_module, "asyncio", SimpleNamespace(sleep=clock.sleep))

    remote._clock = clock
    planned = [*stages(BINDINGS[5:], BINDINGS[:5])]

    done_s = []
    for batch in remote.batches(planned):
        await remote.wait_for_rate(lambda: False)
        await remote.send(batch, planned)
        done_s.append(clock.now_s)

    assert clock.pauses_s == pytest.approx(pauses_s)
    half = len(pauses_s) // 2
    assert done_s == pytest.approx([0.0, sum(pauses_s[:half]), sum(pauses_s)])
    # Where something else is to be done the pause ends, but the next change waits all the same.
    if rate:
        await remote.wait_for_rate(lambda: True)
        assert clock.pauses_s == pytest.approx(pauses_s)
        await remote.wait_for_rate(lambda: False)
        assert sum(clock.pauses_s) == pytest.approx(sum(pauses_s) + 5 / rate)
    await remote.close()
    assert set(kafka.acls()) == set(BINDINGS[5:])


async def test_request_without_an_answer_counts_for_the_rate(
    kafka: DoorkeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = ClusterConfig(
        "a", kafka.bootstrap_servers, {}, SelectorUnion((EVERYTHING,)), rate=10, batch=10
    )
    clock = LoopClock(0.0)
    remote = RemoteCluster(config, set())
    remote._clock = clock
    monkeypatch.setattr(remote_module, "asyncio", SimpleNamespace(sleep=clock.sleep))

    async def lost(*_: object) -> list[None]:
        raise OSError("the connection was lost")

    monkeypatch.setattr(remote, "_change", lost)
    planned = [*stages(BINDINGS[5:], ())]
    (batch, *_) = remote.batches(planned)
    with pytest.raises(OSError, match="lost"):
        await remote.send(batch, planned)
    await remote.wait_for_rate(lambda: False)

    assert sum(clock.pauses_s) == pytest.approx(1.0)
    await remote.close()

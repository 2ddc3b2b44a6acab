"""What a connection's socket does while its client logs in."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from doorkeeper.server.net.channel import UNAUTHENTICATED_BYTES
from doorkeeper.server.net.limits import Limits
from doorkeeper.server.net.options import ConnectionSecurity
from doorkeeper.server.net.protocol.session import SessionState
from doorkeeper.server.security.contract import (
    AuthenticationContext,
    Challenge,
    OfferedMechanism,
    Step,
    Success,
)
from doorkeeper.server.security.principals import DefaultPrincipalBuilder
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateResponse
from testkit.channels import Transport, World
from testkit.edge import LOGIN, answer, authenticate, bare, describe, handshake, plain, until
from testkit.loop_clock import time_by_hand

if TYPE_CHECKING:
    from doorkeeper.acls.model import Principal


async def test_failed_login_is_answered_after_the_delay() -> None:
    world = World(Limits(failed_authentication_delay_ms=20), offers=LOGIN)
    channel, transport = world.connect()

    with time_by_hand() as clock:
        channel.data_received(handshake("NONSENSE") + handshake())
        await world.turns()
        clock.now_s += 0.019
        await asyncio.sleep(0)
        await asyncio.sleep(0)

        assert (transport.writes, transport.closing, transport.is_reading()) == ([], False, False)
        clock.now_s += 0.001
        await until(lambda: transport.closing)
    assert len(transport.answers()) == 1
    line = world.log.one("failed authentication")
    assert line.fields["reason"] == "Unsupported SASL mechanism NONSENSE"


async def test_password_is_not_logged() -> None:
    world = World(offers=LOGIN)
    channel, _ = world.connect()

    channel.data_received(handshake(version=0) + bare(plain("alice", "hush")))
    await world.turns()

    assert "hush" not in repr(world.log.lines)
    assert world.log.one("failed authentication")
    channel.connection_lost(None)


async def test_read_ahead_is_limited_before_login() -> None:
    world = World(offers=LOGIN)
    channel, transport = world.connect()

    channel.data_received(handshake())
    little = transport.is_reading()
    channel.data_received(bare(b"x" * UNAUTHENTICATED_BYTES))
    much = transport.is_reading()
    channel.connection_lost(None)
    await world.turns()

    assert (little, much) == (True, False)
    assert transport.writes == []


async def test_delayed_errors_take_turns() -> None:
    world = World(Limits(failed_authentication_delay_ms=0), offers=LOGIN)
    connected = [world.connect() for _ in range(5)]
    for channel, _ in connected:
        channel.data_received(handshake("NONSENSE"))
    ended: list[int] = []

    while not ended or ended[-1] < len(connected):
        await asyncio.sleep(0)
        ended.append(sum(transport.closing for _, transport in connected))

    steps = {after - before for before, after in pairwise(ended)}
    assert steps <= {0, 1}


class Slow:
    """Knows what comes of a token when the test says so."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.steps: list[asyncio.Future[Step]] = []

    def step(self, token: bytes) -> asyncio.Future[Step]:
        """Promise a step."""
        self.asked.append(token)
        self.steps.append(asyncio.get_running_loop().create_future())
        return self.steps[-1]


def slow_world(limits: Limits | None = None) -> tuple[Slow, World]:
    slow = Slow()
    offered = OfferedMechanism("PLAIN", lambda _context: slow, 0)
    offers = ConnectionSecurity({"PLAIN": offered}, DefaultPrincipalBuilder())
    return slow, World(limits or Limits(failed_authentication_delay_ms=20), offers=offers)


async def test_slow_login_blocks_its_connection() -> None:
    slow, world = slow_world()
    channel, transport = world.connect()

    channel.data_received(handshake() + authenticate(plain()) + authenticate(b"2") + describe("a"))
    await world.turns()
    written = len(transport.writes)
    assert not transport.is_reading()
    slow.steps[0].set_result(Challenge(b"more"))
    await until(lambda: len(slow.steps) == 2)
    slow.steps[1].set_result(Success("alice"))
    await until(transport.is_reading)

    assert written == 1
    assert slow.asked == [plain(), b"2"]
    assert len(transport.answers()) == 4


@pytest.mark.parametrize("outcome", [RuntimeError("hush"), asyncio.CancelledError()])
async def test_login_exception_is_an_authentication_failure(outcome: BaseException) -> None:
    slow, world = slow_world()
    channel, transport = world.connect()

    channel.data_received(handshake() + authenticate(plain()))
    await world.turns()
    if isinstance(outcome, asyncio.CancelledError):
        slow.steps[0].cancel()
    else:
        slow.steps[0].set_exception(outcome)
    await until(transport.is_closing)

    told = answer(transport.answers()[-1], SaslAuthenticateResponse, 2)[1]
    assert told.error_code == 58
    assert told.error_message == (
        "Authentication failed during authentication due to invalid credentials"
        " with SASL mechanism PLAIN"
    )
    assert "hush" not in str(world.log.lines)


async def test_disconnect_cancels_the_login() -> None:
    slow, world = slow_world()
    channel, transport = world.connect()
    channel.data_received(handshake() + authenticate(plain()))
    await world.turns()

    channel.connection_lost(None)
    await asyncio.sleep(0)

    assert slow.steps[0].cancelled()
    assert world.lost == [channel]
    assert len(transport.writes) == 1


class Nobody:
    """Makes no principal of anybody."""

    def build(self, context: AuthenticationContext) -> Principal:
        """Refuse."""
        raise RuntimeError(f"no {context.authorization_id} on {context.listener_name}")


async def test_missing_principal_ends_the_connection() -> None:
    world = World(offers=ConnectionSecurity(None, Nobody()))
    _, in_clear = world.connect()
    sasl = World(offers=replace(LOGIN, builder=Nobody()))
    channel, transport = sasl.connect()

    channel.data_received(handshake() + authenticate(plain()))
    await sasl.turns()
    let_in = answer(transport.answers()[-1], SaslAuthenticateResponse, 2)[1]
    open_still = not transport.is_closing()
    channel.data_received(describe("a"))
    await sasl.turns()

    assert in_clear.is_closing()
    assert (let_in.error_code, open_still, transport.is_closing()) == (0, True, True)
    for log in (world.log, sasl.log):
        assert "cannot build the principal for a connection" in str(log.lines)


async def test_disconnect_at_an_error_challenge_is_logged() -> None:
    slow, world = slow_world()
    channel, transport = world.connect()
    usual, other = world.connect()

    for each in (channel, usual):
        each.data_received(handshake() + authenticate(plain()))
    await world.turns()
    slow.steps[0].set_result(Challenge(b"no", "the token is too old"))
    slow.steps[1].set_result(Challenge(b"more"))
    await until(lambda: len(transport.answers()) == len(other.answers()) == 2)
    channel.connection_lost(None)
    usual.connection_lost(None)

    line = world.log.one("failed authentication")
    assert line.fields["reason"] == "the token is too old; the client hung up"


class Encrypted(Transport):
    """Takes pieces as over TLS."""

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self if name == "ssl_object" else default

    def getpeercert(self, *, binary_form: bool) -> None:
        assert binary_form

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert (high, low) == (1, 0)

    def set_read_buffer_limits(self, high: int) -> None:
        assert high


async def test_failed_reauthentication_cuts_no_answer_off() -> None:
    """A client that reads slowly may have asked for much before it logged in anew."""
    offered = OfferedMechanism("PLAIN", lambda _: Slow(), 3_600_000)
    world = World(
        Limits(failed_authentication_delay_ms=0),
        offers=ConnectionSecurity({"PLAIN": offered}, DefaultPrincipalBuilder()),
    )
    channel, transport = world.connect(Encrypted())
    channel.connection.session.expires_s = world.clock.now_s + 3_600
    channel.connection.session._enter(SessionState.LIMITED)
    channel._authenticated = True

    transport.stuck = True
    channel.data_received(describe("long:20") + handshake("NONSENSE"))
    for _ in range(20):
        await asyncio.sleep(0)
    closed_early = transport.closing
    transport.stuck = False
    channel.resume_writing()
    await until(transport.is_closing)

    (answered,) = transport.answers()
    assert not closed_early
    assert len(answer(answered, DescribeAclsResponse, 3)[1].resources) == 20

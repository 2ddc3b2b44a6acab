"""The tap: logins, versions, and the addresses of several brokers."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

import pytest

from doorkeeper.acls.model import Principal
from doorkeeper.cli.learn.tap import Tap, principal_of
from doorkeeper.client.config import Address
from doorkeeper_wire.errors import Malformed
from doorkeeper_wire.framing import RequestHeader, encode_request, encode_response
from doorkeeper_wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from doorkeeper.cli.learn.shadow import Shadow
    from doorkeeper_wire.message import Message

CLAIMS = base64.urlsafe_b64encode(json.dumps({"sub": "alice"}).encode()).rstrip(b"=")


@pytest.mark.parametrize(
    ("mechanism", "token"),
    [
        ("PLAIN", b"\0alice\0secret"),
        ("SCRAM-SHA-512", b"n,,n=alice,r=nonce"),
        ("SCRAM-SHA-256", b"n,a=admin,n=alice,r=nonce"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer e30." + CLAIMS + b".sig\x01\x01"),
    ],
)
def test_the_principal_of_a_login(mechanism: str, token: bytes) -> None:
    """It is in the client's first token."""
    assert principal_of(mechanism, token) == Principal("User", "alice")


@pytest.mark.parametrize(
    ("mechanism", "token"),
    [
        ("GSSAPI", b"\x60\x82"),
        ("PLAIN", b"alice"),
        ("PLAIN", b"\0\xff\0"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer a.!.\x01\x01"),
        ("OAUTHBEARER", b"n,,\x01auth=Bearer e30.W10.\x01\x01"),
    ],
)
def test_a_login_that_cannot_be_read(mechanism: str, token: bytes) -> None:
    """It has no principal, which is no error: the broker decides about it."""
    assert principal_of(mechanism, token) is None


class Observed:
    """A shadow that keeps what it is told."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, str]] = []

    def observe(
        self, header: RequestHeader, _frame: bytes, _offset: int, principal: Principal, _host: str
    ) -> None:
        self.requests.append((header.api_key, str(principal)))

    def learn_topics(self, _response: MetadataResponse) -> None:
        pass


@asynccontextmanager
async def broker(*answers: bytes) -> AsyncIterator[Address]:
    """Give the address of a broker that has an answer, with its size, for each frame."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for each in answers:
            await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
            writer.write(each)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield Address("127.0.0.1", server.sockets[0].getsockname()[1])


async def ask(address: Address, *frames: bytes) -> list[bytes]:
    """Send frames in turn; return the answers without their sizes."""
    reader, writer = await asyncio.open_connection(*address)
    found = []
    for each in frames:
        writer.write(each)
        found.append(await reader.readexactly(int.from_bytes(await reader.readexactly(4))))
    writer.close()
    return found


def request(key: int, version: int, message: Message) -> bytes:
    """Return a request."""
    header = RequestHeader(api_key=key, api_version=version, correlation_id=7, client_id="c")
    return encode_request(header, message.encode(version))


@asynccontextmanager
async def tap_of(shadow: Observed) -> AsyncIterator[tuple[Tap, list[str]]]:
    """Give a tap, and its reports."""
    reports: list[str] = []
    tap = Tap(cast("Shadow", shadow), "127.0.0.1", reports.append)
    yield tap, reports
    await tap.close()


async def test_each_broker_has_an_address_of_the_tap() -> None:
    """A broker that is named twice has one; behind the second is the second broker."""
    second_answer = encode_response(3, 1, 7, MetadataResponse(controller_id=2).encode(1))
    async with broker(second_answer) as second, tap_of(Observed()) as (tap, reports):
        brokers = tuple(
            MetadataResponseBroker(node_id=node, host=second.host, port=port)
            for node, port in ((1, second.port + 1), (2, second.port))
        )
        body = MetadataResponse(brokers=brokers, controller_id=1).encode(1)
        async with broker(*[encode_response(3, 1, 7, body)] * 2) as first:
            asked = request(3, 1, MetadataRequest(topics=()))

            address = await tap.open(first)
            answers = await ask(address, asked, asked)

            shown = [MetadataResponse.decode(each, 4, 1)[0] for each in answers]
            ports = [each.port for each in shown[0].brokers]
            assert shown[0] == shown[1]
            assert len({address.port, second.port, second.port + 1, *ports}) == 5
            (other,) = await ask(Address("127.0.0.1", ports[1]), asked)
            assert MetadataResponse.decode(other, 4, 1)[0].controller_id == 2
        assert reports == []


async def test_offered_versions_are_those_that_can_be_read() -> None:
    """APIs that are unknown here are not offered; also in the answer of an older broker."""
    rows = tuple(
        ApiVersion(api_key=key, min_version=low, max_version=high)
        for key, low, high in ((0, 0, 13), (1, 4, 18), (18, 0, 4), (999, 0, 0), (59, 5, 9))
    )
    old = encode_response(18, 3, 7, ApiVersionsResponse(error_code=35, api_keys=rows).encode(0))
    new = encode_response(18, 3, 7, ApiVersionsResponse(api_keys=rows).encode(3))
    async with broker(old, new) as behind, tap_of(Observed()) as (tap, _):
        asked = request(18, 3, ApiVersionsRequest())

        answers = await ask(await tap.open(behind), asked, asked)

    for answer, version in zip(answers, (0, 3), strict=True):
        response, _ = ApiVersionsResponse.decode(answer, 4, version)
        shown = [(each.api_key, each.min_version, each.max_version) for each in response.api_keys]
        assert shown == [(0, 0, 9), (1, 4, 15), (18, 0, 4)]


async def test_a_login_without_headers() -> None:
    """After SaslHandshake 0 the token has no header; requests behind it are the user's."""
    handshake = encode_response(17, 0, 7, SaslHandshakeResponse().encode(0))
    metadata = encode_response(3, 1, 7, MetadataResponse().encode(1))
    shadow = Observed()
    async with broker(handshake, b"\0\0\0\0", metadata) as behind, tap_of(shadow) as (tap, reports):
        token = b"\0alice\0secret"
        frames = (
            request(17, 0, SaslHandshakeRequest(mechanism="PLAIN")),
            len(token).to_bytes(4) + token,
            request(3, 1, MetadataRequest(topics=())),
        )

        answers = await ask(await tap.open(behind), *frames)

    assert answers[1] == b""
    assert shadow.requests == [(3, "User:alice")]
    assert reports == []


@pytest.mark.parametrize(
    "fault", [Malformed("Topics", 9, "too short"), KeyError("a fault of ours")]
)
async def test_a_request_that_cannot_be_counted(fault: Exception) -> None:
    """It passes nevertheless; a line says so."""

    class Failing(Observed):
        def observe(self, *_: Any) -> None:
            raise fault

    metadata = encode_response(3, 1, 7, MetadataResponse().encode(1))
    async with broker(metadata) as behind, tap_of(Failing()) as (tap, reports):
        (answer,) = await ask(await tap.open(behind), request(3, 1, MetadataRequest(topics=())))

    assert MetadataResponse.decode(answer, 4, 1)[0] == MetadataResponse()
    assert len(reports) == 1
    assert reports[0].startswith("a request is not counted: ")

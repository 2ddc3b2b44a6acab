"""Whatever a server answers, a client gives a result or one of its own errors."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from doorkeeper.client import AdminClient, ClientConfig, ClientError, Password
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeResponse
from testkit.acl import READ, allow, topic
from testkit.scripted_server import ScriptedServer

if TYPE_CHECKING:
    from collections.abc import Callable

APIS = ("ApiVersions", "Metadata", "DescribeAcls", "CreateAcls", "SaslAuthenticate")
BINDING = allow("a", READ, topic("t"))


def framed(data: bytes, correlation_id: int) -> bytes:
    return struct.pack(">ii", len(data) + 4, correlation_id) + data


@settings(max_examples=50, deadline=None)
@given(
    api=st.sampled_from(APIS),
    data=st.binary(max_size=64) | st.binary(max_size=24).map(lambda each: b"\0" + each),
    raw=st.booleans(),
)
def test_invalid_responses_are_client_errors(api: str, data: bytes, *, raw: bool) -> None:
    async def ask() -> None:
        async with ScriptedServer(SaslHandshake=lambda _: SaslHandshakeResponse()) as server:

            def answer(_request: object) -> bytes | None:
                # The answers of a client's first connection are numbered from 1.
                return (data if raw else framed(data, len(server.headers))) or None

            scripts: dict[str, Callable[[object], bytes | None]] = {api: answer}
            server.scripts.update(scripts)
            config = ClientConfig(
                bootstrap=server.address,
                login=Password("PLAIN", "a", "b") if api == "SaslAuthenticate" else None,
                request_timeout_ms=50,
                timeout_ms=60,
            )
            async with AdminClient(config) as client:
                for call in (client.describe_acls(), client.create_acls([BINDING])):
                    # Anything else fails the test.
                    with contextlib.suppress(ClientError):
                        assert isinstance(await call, list)

    asyncio.run(ask())

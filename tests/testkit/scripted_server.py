"""A server that answers as a test says: for clients that meet the unexpected.

It speaks ApiVersions and Metadata, so that a client finds it; a script says the rest.
"""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from doorkeeper_wire.declared import tree
from doorkeeper_wire.framing import RequestHeader, decode_request_header, encode_response
from doorkeeper_wire.messages.alter_client_quotas import AlterClientQuotasRequest
from doorkeeper_wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
)
from doorkeeper_wire.messages.create_acls import CreateAclsRequest
from doorkeeper_wire.messages.delete_acls import DeleteAclsRequest
from doorkeeper_wire.messages.describe_acls import DescribeAclsRequest
from doorkeeper_wire.messages.describe_configs import DescribeConfigsRequest
from doorkeeper_wire.messages.describe_quorum import DescribeQuorumRequest
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from doorkeeper_wire.messages.fetch import FetchRequest
from doorkeeper_wire.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
)
from doorkeeper_wire.messages.sasl_authenticate import SaslAuthenticateRequest
from doorkeeper_wire.messages.sasl_handshake import SaslHandshakeRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper_wire.message import Message


class FetchSnapshotRequest:
    """The request of an API without generated code; it decodes to a dictionary."""

    API_KEY = 59
    MIN_VERSION = 0
    MAX_VERSION = 1

    @staticmethod
    def decode(frame: bytes, at: int, version: int) -> tuple[dict[str, Any], int]:
        request: tuple[dict[str, Any], int] = tree("FetchSnapshotRequest", version).decode(
            frame, at
        )
        return request


class FetchSnapshotResponse:
    """Its response, from values."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def encode(self, version: int) -> bytes:
        encoded: bytes = tree("FetchSnapshotResponse", version).build(self._values)
        return encoded


Answer: TypeAlias = "Message | FetchSnapshotResponse | bytes | None"
Script: TypeAlias = "Callable[[Any], Answer | asyncio.Future[Answer]]"

REQUESTS: tuple[type[Any], ...] = (
    AlterClientQuotasRequest,
    ApiVersionsRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    DescribeConfigsRequest,
    DescribeQuorumRequest,
    DescribeUserScramCredentialsRequest,
    FetchRequest,
    FetchSnapshotRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)


class ScriptedServer:
    """The server. A script takes a request and gives the answer, raw bytes, or None: the end.

    ``asked`` are the requests that came, without those for versions and nodes.
    """

    def __init__(self, **scripts: Script) -> None:
        """Take scripts by the names of requests, without "Request" at the end."""
        self.scripts = scripts
        self.asked: list[Any] = []
        self.was_asked = asyncio.Event()
        self.headers: list[RequestHeader] = []
        self.connections = 0
        self.address = ""
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self._server.close()
        self.drop()
        await asyncio.sleep(0)

    def drop(self) -> None:
        """End all connections."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                frame = await reader.readexactly(size)
                header, at = decode_request_header(frame)
                kind = next(each for each in REQUESTS if header.api_key == each.API_KEY)
                request, _ = kind.decode(frame, at, header.api_version)
                self.headers.append(header)
                answer = await self._answer(kind, request)
                if answer is None:
                    break
                writer.write(_encoded(answer, header))
        except (asyncio.IncompleteReadError, ConnectionError):
            # The client has left.
            pass
        finally:
            writer.close()

    async def _answer(self, kind: type[Any], request: Any) -> Answer:
        name = kind.__name__.removesuffix("Request")
        if name in self.scripts:
            if kind not in (ApiVersionsRequest, MetadataRequest):
                self.asked.append(request)
                self.was_asked.set()
            found = self.scripts[name](request)
            return await found if isinstance(found, asyncio.Future) else found
        if name == "ApiVersions":
            return versions()
        assert name == "Metadata", f"there is no script for {name}"
        return self.metadata(self.port)

    def metadata(self, *ports: int, controller_id: int = 1) -> MetadataResponse:
        """Return an answer with a node at each port, numbered from 1."""
        brokers = tuple(
            MetadataResponseBroker(node_id=number, host="127.0.0.1", port=port)
            for number, port in enumerate(ports, 1)
        )
        return MetadataResponse(brokers=brokers, cluster_id="c", controller_id=controller_id)


def versions(**newest: int) -> ApiVersionsResponse:
    """Return all requests in the versions that we have, but for the newest of some."""
    rows = []
    for kind in REQUESTS:
        name = kind.__name__.removesuffix("Request")
        most = newest.get(name, kind.MAX_VERSION)
        if most >= 0:
            rows.append(_row(kind.API_KEY, min(kind.MIN_VERSION, most), most))
    return ApiVersionsResponse(api_keys=tuple(rows))


def _row(key: int, least: int, most: int) -> ApiVersion:
    return ApiVersion(api_key=key, min_version=least, max_version=most)


def _encoded(answer: Message | FetchSnapshotResponse | bytes, header: RequestHeader) -> bytes:
    if isinstance(answer, bytes):
        return answer
    body = answer.encode(header.api_version)
    return encode_response(header.api_key, header.api_version, header.correlation_id, body)

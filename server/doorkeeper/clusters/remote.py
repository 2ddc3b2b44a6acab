"""One cluster through its admin API; each broker answers for itself."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from doorkeeper.acl.model import ANY_BINDING, exactly
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.bindings import bindings_of, description_request
from doorkeeper.client.errors import ApiFailure, ClientError
from doorkeeper.client.properties import CommandConfigError
from doorkeeper.clusters.drift import binding_text, known_bindings
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.clusters.config import ClusterConfig
    from doorkeeper.clusters.enforcement import AclEdits
    from doorkeeper.errors import ApiError


# Kafka's clients wait 30 s for an answer and 60 s in all: too long for one broker of several.
_CALL_MS: Final = 10_000


class ClusterError(Exception):
    """A cluster cannot be read or changed; the text has the reason, and no secret."""


class DescriptionReader:
    """Decodes the descriptions of one broker; one of the same bytes as the last costs a hash.

    It stands in the place of the response's class: a client decodes a long one in a thread.
    """

    def __init__(self) -> None:
        self._last: tuple[bytes, frozenset[AclBinding]] | None = None

    def replace(self, bindings: frozenset[AclBinding]) -> None:
        """Keep an equal set in the place of the last one."""
        if self._last is not None:
            self._last = self._last[0], bindings

    def decode(self, frame: bytes, at: int, version: int) -> tuple[frozenset[AclBinding], int]:
        """Decode the body of a response.

        Raises:
            ApiFailure: it is an error.
        """
        digest = hashlib.blake2b(memoryview(frame)[at:], digest_size=32).digest()
        # Brokers list ACLs in the same order each time; if one does not, decoding costs more.
        if self._last is None or self._last[0] != digest:
            answer, _ = DescribeAclsResponse.decode(frame, at, version)
            if answer.error_code:
                raise ApiFailure(answer.error_code, answer.error_message)
            self._last = digest, frozenset(known_bindings(bindings_of(answer)))
        return self._last[1], len(frame)


class SentBatch(NamedTuple):
    """The bindings of one request, and the error of each, or None, in order."""

    adds: bool
    bindings: Sequence[AclBinding]
    errors: Sequence[ApiError | None]

    @property
    def successes(self) -> frozenset[AclBinding]:
        pairs = zip(self.bindings, self.errors, strict=True)
        return frozenset(binding for binding, error in pairs if error is None)

    @property
    def refusals(self) -> list[str]:
        """Return a text for each binding that the cluster has refused."""
        pairs = zip(self.bindings, self.errors, strict=True)
        return [f"{binding_text(each)}: {error}" for each, error in pairs if error is not None]


class RemoteCluster:
    """A client of a cluster. It is made anew after an error, with the secrets as they are then."""

    def __init__(
        self, config: ClusterConfig, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """``sleep`` passes the time between batches."""
        self._config = config
        self._sleep = sleep
        self._client: AdminClient | None = None
        self._readers: dict[int, DescriptionReader] = {}
        self._latest: frozenset[AclBinding] = frozenset()

    async def brokers(self) -> tuple[int, ...]:
        """Return the ids of the brokers at the moment, in order.

        Raises:
            ClusterError: no broker answers, or none is listed.
        """
        with self._translate_errors():
            found = tuple(sorted((await self._open().cluster()).nodes))
        if not found:
            raise ClusterError("the cluster lists no broker")
        return found

    async def read(self, broker: int) -> frozenset[AclBinding]:
        """Return all ACLs of a broker's own authorizer, without those of unknown codes.

        Raises:
            ClusterError: there is no complete answer.
        """
        reader = self._readers.setdefault(broker, DescriptionReader())
        with self._translate_errors():
            found: Any = await self._open().call(
                description_request(ANY_BINDING), cast("type[Any]", reader), node_id=broker
            )
        bindings: frozenset[AclBinding] = found
        if bindings is not self._latest:
            # Brokers mostly have the same: a hundred thousand ACLs are kept once.
            if await asyncio.to_thread(bindings.__eq__, self._latest):
                reader.replace(self._latest)
            else:
                self._latest = bindings
        return self._latest

    async def has(self, broker: int, binding: AclBinding) -> bool:
        """Return whether a broker has one ACL; that costs it a tenth of reading all.

        Raises:
            ClusterError: there is no answer.
        """
        with self._translate_errors():
            return bool(await self._open().describe_acls(exactly(binding), node_id=broker))

    async def send(self, edits: AclEdits) -> AsyncIterator[SentBatch]:
        """Make changes in batches, at the configured rate; yield the result of each batch.

        Raises:
            ClusterError: it is unknown whether a batch was applied.
        """
        limits = self._config.limits
        for adds, batch in edits.batches(limits.batch):
            with self._translate_errors():
                errors = await (self._add if adds else self._remove)(batch)
            yield SentBatch(adds, batch, errors)
            if limits.per_second:
                await self._sleep(len(batch) / limits.per_second)

    async def _add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        return [each.error for each in await self._open().create_acls(bindings)]

    async def _remove(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        results = await self._open().delete_acls([exactly(each) for each in bindings])
        return [
            each.error or next((one.error for one in each.removed if one.error), None)
            for each in results
        ]

    async def close(self) -> None:
        """Close the connections; the next call opens others."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    def _open(self) -> AdminClient:
        if self._client is None:
            config = self._config.client_config()
            # A broker that is gone must not keep the others waiting for a minute.
            limit_ms = max(_CALL_MS, round(self._config.interval_s * 1000))
            config = replace(config, timeout_ms=min(config.timeout_ms, limit_ms))
            self._client = AdminClient(config)
        return self._client

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (ClientError, CommandConfigError, OSError, ValueError) as error:
            raise ClusterError(str(error)) from error

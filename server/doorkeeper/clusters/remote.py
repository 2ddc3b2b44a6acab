"""One cluster through its admin API; each broker answers for itself."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acl.model import exactly
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.errors import ClientError
from doorkeeper.client.properties import CommandConfigError
from doorkeeper.clusters.drift import binding_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.clusters.config import ClusterConfig
    from doorkeeper.clusters.enforcement import AclEdits
    from doorkeeper.errors import ApiError


class ClusterError(Exception):
    """A cluster cannot be read or changed; the text has the reason, and no secret."""


class BrokerReading(NamedTuple):
    """All ACLs of one broker; ``unknown`` counts those with codes that are unknown here."""

    broker: int
    bindings: frozenset[AclBinding]
    unknown: int = 0


class SentBatch(NamedTuple):
    """The bindings of one request, and the error of each, or None, in order."""

    adds: bool
    bindings: Sequence[AclBinding]
    errors: Sequence[ApiError | None]

    @property
    def done(self) -> frozenset[AclBinding]:
        pairs = zip(self.bindings, self.errors, strict=True)
        return frozenset(binding for binding, error in pairs if error is None)

    @property
    def refusals(self) -> list[str]:
        """Return a text for each binding that the cluster has refused."""
        pairs = zip(self.bindings, self.errors, strict=True)
        return [f"{binding_text(each)}: {error}" for each, error in pairs if error is not None]


class RemoteCluster:
    """A client of a cluster. It is made anew after an error, with the secrets as they are then."""

    def __init__(self, config: ClusterConfig) -> None:
        self._config = config
        self._client: AdminClient | None = None

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

    async def read(self, broker: int) -> BrokerReading:
        """Return all ACLs of a broker's own authorizer.

        Raises:
            ClusterError: there is no complete answer.
        """
        with self._translate_errors():
            found = await self._open().describe_acls(node_id=broker)
        known = frozenset(each for each in found if _is_known(each))
        return BrokerReading(broker, known, len(found) - len(known))

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
                await asyncio.sleep(len(batch) / limits.per_second)

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
            self._client = AdminClient(self._config.client_config())
        return self._client

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (ClientError, CommandConfigError, OSError) as error:
            raise ClusterError(str(error)) from error


def _is_known(binding: AclBinding) -> bool:
    (resource_type, _, pattern_type), entry = binding
    return 0 not in (resource_type, pattern_type, entry.operation, entry.permission_type)

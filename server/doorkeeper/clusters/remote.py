"""One cluster through its admin API; each broker answers for itself."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from doorkeeper.acl.model import ANY_BINDING, exactly
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.bindings import description_request
from doorkeeper.client.errors import ClientError
from doorkeeper.client.properties import CommandConfigError
from doorkeeper.clusters.descriptions import Descriptions
from doorkeeper.clusters.drift import binding_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.clusters.config import ClusterConfig
    from doorkeeper.clusters.drift import Bindings
    from doorkeeper.clusters.enforcement import AclEdits
    from doorkeeper.errors import ApiError


# Kafka's clients wait 30 s for an answer and 60 s in all: too long for one broker of several.
_CALL_MS: Final = 10_000


class ClusterError(Exception):
    """A cluster cannot be read or changed; the text has the reason, and no secret."""


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
        self.descriptions = Descriptions()

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

    async def read(self, broker: int) -> Bindings:
        """Return all ACLs of a broker's own authorizer, without those of unknown codes.

        Raises:
            ClusterError: there is no complete answer.
        """
        reader = cast("type[Any]", self.descriptions.reader(broker))
        with self._translate_errors():
            found: Any = await self._open().call(
                description_request(ANY_BINDING), reader, node_id=broker
            )
        bindings: Bindings = found
        return bindings

    async def look_up(self, broker: int, wanted: AclBindingFilter) -> Bindings:
        """Return the ACLs of a broker that a filter matches.

        A broker looks at all of its ACLs, a tenth of the work of describing all.

        Raises:
            ClusterError: there is no complete answer.
        """
        with self._translate_errors():
            return frozenset(await self._open().describe_acls(wanted, node_id=broker))

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

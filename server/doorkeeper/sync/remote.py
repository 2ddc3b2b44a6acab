"""One cluster through its admin API; each broker answers for itself.

An equal description of all ACLs is not decoded again.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.live_changes import LiveCluster, binding_text
from doorkeeper.acls.model import ANY_BINDING, exactly
from doorkeeper.base.errors import ErrorCode
from doorkeeper.client.admin import RETRIABLE, AdminClient
from doorkeeper.client.bindings import bindings_of, description_request
from doorkeeper.client.errors import ApiFailure, ClientError
from doorkeeper.client.identity import identity_of
from doorkeeper.client.open_by_default import is_open_by_default
from doorkeeper.client.properties import CommandConfigError
from doorkeeper.server.schema.features import has_networks
from doorkeeper.sync.drift import AclDrift, compare, known_bindings
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        Awaitable,
        Callable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.live_changes import Stage
    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.acls.plan import SelectorUnion
    from doorkeeper.base.errors import ApiError
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.drift import Bindings, DesiredChange


_OF_ALL: Final = frozenset({ErrorCode.SECURITY_DISABLED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED})
"""Errors of one change that all others have too."""

_NO_AUTHORIZER: Final = (
    "not enforceable: the brokers describe their ACLs, and the controllers have no authorizer"
    " (authorizer.class.name is missing in their configuration)"
)

# Kafka's clients wait 30 s for an answer and 60 s in all: too long for one broker of several.
_CALL_MS: Final = 10_000


_LARGE: Final = 2_000
"""The differences of a drift that are some milliseconds of work."""

_FACTS_S: Final = 60.0
"""The age at which release, default and login of a cluster are asked for again."""


class ClusterError(Exception):
    """A cluster cannot be read or changed; the text has the reason, and no secret."""


class SentBatch(Struct, frozen=True):
    """The bindings of one request, and the errors of those that the cluster has refused."""

    adds: bool
    bindings: Sequence[AclBinding]
    errors: Mapping[AclBinding, ApiError]

    @property
    def successes(self) -> Bindings:
        return frozenset(self.bindings) - self.errors.keys()

    @property
    def failures(self) -> Bindings:
        return frozenset(self.errors)

    @property
    def refusal(self) -> str:
        """Return the first reason of the cluster for a refusal; empty without one."""
        for binding, error in self.errors.items():
            is_disabled = error.code is ErrorCode.SECURITY_DISABLED
            return _NO_AUTHORIZER if is_disabled else f"{binding_text(binding)}: {error}"
        return ""

    @property
    def is_refused_as_a_whole(self) -> bool:
        """Return whether the cluster refuses all other changes too."""
        return any(error.code in _OF_ALL for error in self.errors.values())


class Descriptions:
    """The last answer of each broker, as a hash, and its drift.

    Brokers describe the same ACLs in orders of their own.
    """

    def __init__(self, scope: SelectorUnion) -> None:
        self._scope = scope
        self._drifts: dict[int, tuple[bytes, AclDrift]] = {}

    def note(self, change: DesiredChange) -> None:
        """Take a change of the desired bindings."""
        # A new one: a thread that still compares with the bindings before writes into the old one.
        self._drifts = {
            broker: (digest, drift.after_goal(change))
            for broker, (digest, drift) in self._drifts.items()
            # To follow a large drift takes as long as to read it again, which a thread does.
            if len(drift.missing) + len(drift.extra) < _LARGE
        }

    def reader(self, broker: int, desired: AbstractSet[AclBinding]) -> DescriptionReader:
        """Return what decodes the next answer of a broker."""
        return DescriptionReader(self._scope, self._drifts, broker, desired)


class DescriptionReader(Struct, frozen=True):
    """Decodes an answer of one broker, in the place of the response's class.

    A client decodes a long one in a thread.
    """

    scope: SelectorUnion
    drifts: dict[int, tuple[bytes, AclDrift]]
    broker: int
    desired: AbstractSet[AclBinding]

    def decode(self, frame: bytes, at: int, version: int) -> tuple[AclDrift, int]:
        """Return the drift that the body of a response shows.

        100,000 ACLs take 0.4 to 0.8 s, an equal answer 2 ms.
        """
        digest = hashlib.blake2b(memoryview(frame)[at:], digest_size=32).digest()
        last = self.drifts.get(self.broker)
        if last is not None and last[0] == digest:
            return last[1], len(frame)
        answer, end = DescribeAclsResponse.decode(frame, at, version)
        if answer.error_code:
            raise ApiFailure(answer.error_code, answer.error_message)
        drift = compare(self.desired, set(known_bindings(bindings_of(answer))), self.scope)
        for _, other in list(self.drifts.values()):
            # One set for all brokers that agree.
            if other.outside == drift.outside:
                drift = replace(drift, outside=other.outside)
        self.drifts[self.broker] = digest, drift
        return drift, end


class RemoteCluster:
    """A client of a cluster. It is made anew after an error, with the secrets as they are then.

    A call without a complete answer raises ``ClusterError``.
    """

    def __init__(
        self, config: ClusterConfig, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    ) -> None:
        """``sleep`` passes the time between batches."""
        self._config = config
        self._sleep = sleep
        self._client: AdminClient | None = None
        self._facts: LiveCluster | None = None
        self._facts_s = 0.0
        self.descriptions = Descriptions(config.scope)

    async def brokers(self) -> tuple[int, ...]:
        """Return the ids of the brokers at the moment, in order."""
        with self._translate_errors():
            brokers = tuple(sorted((await self._open().cluster()).nodes))
        if not brokers:
            raise ClusterError("the cluster lists no broker")
        return brokers

    async def facts(self, now_s: float) -> LiveCluster:
        """Return what the rules of changes need to know of the cluster; at most a minute old."""
        if self._facts is None or now_s - self._facts_s >= _FACTS_S:
            self._facts, self._facts_s = await self._ask_facts(), now_s
        return self._facts

    async def _ask_facts(self) -> LiveCluster:
        with self._translate_errors():
            client = self._open()
            level = await client.metadata_version()
            identity = await identity_of(self._config.client_config())
            return LiveCluster(
                matches_networks=has_networks(level) if level else None,
                open_by_default=await is_open_by_default(client),
                logins=None if identity.principal is None else (identity.principal,),
                login_doubt=identity.doubt,
            )

    async def read(self, broker: int, desired: AbstractSet[AclBinding]) -> AclDrift:
        """Return the drift of a broker's own authorizer, without ACLs of unknown codes."""
        reader = cast("type[Any]", self.descriptions.reader(broker, desired))
        with self._translate_errors():
            drift: AclDrift = await self._open().call(
                description_request(ANY_BINDING), reader, node_id=broker
            )
        return drift

    async def look_up(self, broker: int, filter: AclBindingFilter) -> Bindings:
        """Return the ACLs of a broker that a filter matches.

        A broker looks at all of its ACLs, a tenth of the work of describing all.
        """
        with self._translate_errors():
            return frozenset(await self._open().describe_acls(filter, node_id=broker))

    async def send(self, stages: Iterable[Stage]) -> AsyncGenerator[SentBatch, None]:
        """Make changes in batches, at the configured rate; yield the result of each batch.

        A batch is sent after the answer to the one before.

        Raises:
            ClusterError: it is unknown whether a batch was applied.
        """
        limits = self._config.limits
        for adds, bindings in stages:
            for at in range(0, len(bindings), limits.batch):
                batch = bindings[at : at + limits.batch]
                with self._translate_errors():
                    results = await (self._add if adds else self._remove)(batch)
                errors = {
                    binding: error
                    for binding, error in zip(batch, results, strict=True)
                    if error is not None
                }
                # An answer for want of time is none: the next reading shows what was done.
                if late := [str(error) for error in errors.values() if error.code in RETRIABLE]:
                    raise ClusterError(late[0])
                yield SentBatch(adds, batch, errors)
                if limits.per_second:
                    await self._sleep(len(batch) / limits.per_second)

    async def _add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        return [result.error for result in await self._open().create_acls(bindings)]

    async def _remove(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        results = await self._open().delete_acls([exactly(binding) for binding in bindings])
        return [
            result.error or next((one.error for one in result.removed if one.error), None)
            for result in results
        ]

    async def close(self) -> None:
        """Close the connections, and forget the facts; the next call opens others."""
        client, self._client, self._facts = self._client, None, None
        if client is not None:
            await client.close()

    def _open(self) -> AdminClient:
        if self._client is None:
            config = self._config.client_config()
            # A broker that is gone must not keep the others waiting for a minute.
            limit_ms = max(_CALL_MS, round(self._config.interval_s * 1000))
            config = dataclasses.replace(config, timeout_ms=min(config.timeout_ms, limit_ms))
            self._client = AdminClient(config)
        return self._client

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (ClientError, CommandConfigError, OSError, ValueError) as error:
            raise ClusterError(str(error)) from error

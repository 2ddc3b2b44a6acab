"""One cluster through its admin API; each broker answers for itself."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from doorkeeper.acls.filters import known_bindings
from doorkeeper.acls.live_changes import LiveCluster, Stage, binding_text
from doorkeeper.acls.model import ANY_BINDING, AclBindingFilter, ResourcePatternFilter, exactly
from doorkeeper.base.errors import ErrorCode
from doorkeeper.client.admin import RETRIABLE, AdminClient
from doorkeeper.client.bindings import bindings_of, description_request
from doorkeeper.client.errors import ApiFailure, ClientError
from doorkeeper.client.identity import identity_of
from doorkeeper.client.open_by_default import is_open_by_default
from doorkeeper.server.schema.features import has_networks
from doorkeeper.sync.drift import NO_BINDINGS, AclDrift, compare
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import SelectorUnion
    from doorkeeper.base.errors import ApiError
    from doorkeeper.sync.config import ClusterConfig
    from doorkeeper.sync.drift import Bindings

_OF_ALL: Final = frozenset({ErrorCode.SECURITY_DISABLED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED})
"""Errors of one change that all others have too."""

_NO_AUTHORIZER: Final = (
    "not enforceable: the brokers describe their ACLs, and the controllers have no authorizer"
    " (authorizer.class.name is missing in their configuration)"
)

# Kafka's clients wait 30 s for an answer and 60 s in all: too long for one broker of several.
_CALL_MS: Final = 10_000

_FACTS_S: Final = 60.0
"""The age at which release, default and login of a cluster are asked for again."""

# A broker looks at each of its ACLs for each filter: so many cost it as much as a description of
# all ACLs, which also shows the changes of others.
FEW: Final = 8

_NEWS_S: Final = 1.0
"""So often a pause between two batches asks whether there is news."""

FAILURES: Final = (ClientError, OSError, ValueError)
"""Why a cluster cannot be read or changed; the texts have no secrets."""

Answers = dict[int, AclDrift | BaseException]
"""The drift of each broker, or why there is none."""


class SentBatch(Struct, frozen=True):
    """What the cluster took of one request, and what it refuses, also of later ones."""

    taken: Bindings
    refused: Bindings = NO_BINDINGS
    refusal: str = ""
    """The first reason."""


class DescriptionReader(Struct, frozen=True):
    """Decodes an answer of one broker, in the place of the response's class.

    A client decodes a long one in a thread. ``drifts`` has the last answer of each broker, as a
    hash, and its drift: brokers describe the same ACLs in orders of their own.
    """

    broker: int
    desired: AbstractSet[AclBinding]
    scope: SelectorUnion
    drifts: dict[int, tuple[bytes, AclDrift]]

    def decode(self, frame: bytes, at: int, version: int) -> tuple[AclDrift, int]:
        """Return the drift that the body of a response shows.

        100,000 ACLs take 0.4 to 0.8 s, an equal answer 2 ms.
        """
        digest = hashlib.blake2b(memoryview(frame)[at:], digest_size=32).digest()
        if (last := self.drifts.get(self.broker)) and last[0] == digest:
            return last[1], len(frame)
        answer, end = DescribeAclsResponse.decode(frame, at, version)
        if answer.error_code:
            raise ApiFailure(answer.error_code, answer.error_message)
        drift = compare(self.desired, set(known_bindings(bindings_of(answer))), self.scope)
        self.drifts[self.broker] = digest, drift
        return drift, end


class RemoteCluster:
    """A cluster, of which each broker is compared with the desired ACLs.

    Its client is made anew after an error, with the secrets as they are then. A call without a
    complete answer raises one of ``FAILURES``. For the event loop's thread.
    """

    def __init__(
        self,
        config: ClusterConfig,
        desired: AbstractSet[AclBinding],
        on_drift: Callable[[Bindings], None] = lambda _: None,
    ) -> None:
        """``desired`` are changed in place; ``on_drift`` takes what a broker differs in."""
        self._config = config
        self._desired = desired
        self._on_drift = on_drift
        self._client: AdminClient | None = None
        self._facts: LiveCluster | None = None
        self._facts_s = 0.0
        self._drifts: dict[int, tuple[bytes, AclDrift]] = {}
        self._turn = 0
        self._clock = asyncio.get_running_loop().time
        self._next_s = 0.0
        """When the rate allows the next batch."""
        self.cluster_id = config.cluster
        """The id of the cluster, from its entry or its first answer; empty before it."""
        self.listed: tuple[int, ...] = ()
        """The brokers that the cluster listed last."""
        self.reads = 0
        """The number of descriptions that brokers were asked for."""

    def forget_drifts(self) -> None:
        """Decode each next answer again, for the desired ACLs have changed."""
        # A thread that still compares with those before writes into the old one.
        self._drifts = {}

    async def brokers(self) -> tuple[int, ...]:
        """Return the brokers that the cluster lists.

        Raises:
            ClientError: none; or it is another cluster than before, which must not get these ACLs.
        """
        cluster = await self._open().cluster()
        if self.cluster_id and cluster.cluster_id != self.cluster_id:
            known = "as its entry says" if self._config.cluster else "which answered first"
            raise ClientError(
                f"another cluster answers: found cluster {cluster.cluster_id}; expected:"
                f" {self.cluster_id}, {known}; see doorkeeper clusters adopt"
            )
        self.cluster_id = cluster.cluster_id
        self.listed = tuple(sorted(cluster.nodes))
        if not self.listed:
            raise ClientError("the cluster reports no brokers")
        return self.listed

    async def facts(self, now_s: float) -> LiveCluster:
        if self._facts is None or now_s - self._facts_s >= _FACTS_S:
            client = self._open()
            level = await client.metadata_version()
            identity = await identity_of(self._config.client_config())
            self._facts = LiveCluster(
                matches_networks=has_networks(level) if level else None,
                open_by_default=await is_open_by_default(client),
                logins=None if identity.principal is None else (identity.principal,),
                login_doubt=identity.doubt,
            )
            self._facts_s = now_s
        return self._facts

    async def read(self) -> Answers:
        """Compare one broker, in turns; if it differs, all: one alone may lag."""
        brokers = await self.brokers()
        self._turn = (self._turn + 1) % len(brokers)
        first = brokers[self._turn]
        answers = await self.compare([first])
        # A difference, or no answer.
        if answers[first]:
            answers |= await self.compare(broker for broker in brokers if broker != first)
        return answers

    async def compare(self, brokers: Iterable[int]) -> Answers:
        """Compare all ACLs of brokers, without those of unknown codes."""

        async def describe(broker: int) -> AclDrift:
            self.reads += 1
            reader = DescriptionReader(broker, self._desired, self._config.scope, self._drifts)
            request, response = description_request(ANY_BINDING), cast("type[Any]", reader)
            drift: AclDrift = await self._open().call(request, response, node_id=broker)
            return drift

        return await self._ask(brokers, describe)

    async def compare_some(self, brokers: Iterable[int], changed: Bindings) -> Answers:
        """Compare some ACLs of brokers; all where that takes too many filters."""
        filters = look_ups(changed)
        if not filters:
            return await self.compare(brokers)
        desired = changed & self._desired

        async def look_up(broker: int) -> AclDrift:
            client = self._open()
            answers = (client.describe_acls(filter, node_id=broker) for filter in filters)
            present = frozenset().union(*await asyncio.gather(*answers))
            return compare(desired, changed & present, self._config.scope)

        return await self._ask(brokers, look_up)

    async def _ask(
        self, brokers: Iterable[int], ask: Callable[[int], Awaitable[AclDrift]]
    ) -> Answers:
        async def one(broker: int) -> tuple[int, AclDrift | BaseException]:
            try:
                drift = await ask(broker)
            except FAILURES as error:
                return broker, error
            self._on_drift(drift.parts)
            return broker, drift

        return dict(await asyncio.gather(*map(one, brokers)))

    def batches(self, stages: Sequence[Stage]) -> Iterator[Stage]:
        """Yield the stages in parts that one request takes."""
        size = self._config.batch
        for adds, bindings in stages:
            for at in range(0, len(bindings), size):
                yield Stage(adds, bindings[at : at + size])

    async def wait_for_rate(self, has_news: Callable[[], bool]) -> None:
        """Wait as long as the rate says after the batch before, or until there is news."""
        # The news is what the store says when it is asked: there is no event for it.
        while (left_s := self._next_s - self._clock()) > 0 and not has_news():  # noqa: ASYNC110
            await asyncio.sleep(min(left_s, _NEWS_S))

    async def send(self, batch: Stage, stages: Sequence[Stage]) -> SentBatch:
        """Make one batch of the changes in ``stages``; after an error its outcome is unknown."""
        # Each time: whatever has this address now must be the cluster that was read.
        await self.brokers()
        adds, bindings = batch
        if self._config.rate:
            # Before the request: one without an answer may have been carried out.
            self._next_s = self._clock() + len(bindings) / self._config.rate
        results = zip(bindings, await self._change(adds, bindings), strict=True)
        errors = {binding: error for binding, error in results if error is not None}
        # An answer for want of time is none: the next reading shows what was done.
        if late := [str(error) for error in errors.values() if error.code in RETRIABLE]:
            raise ClientError(late[0])
        refused = frozenset(errors)
        if any(error.code in _OF_ALL for error in errors.values()):
            refused = refused.union(*(stage.bindings for stage in stages))
        return SentBatch(frozenset(bindings) - errors.keys(), refused, _refusal(errors))

    async def _change(self, adds: bool, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        if adds:
            return [created.error for created in await self._open().create_acls(bindings)]
        filters = [exactly(binding) for binding in bindings]
        return [deleted.first_error for deleted in await self._open().delete_acls(filters)]

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


def _refusal(errors: Mapping[AclBinding, ApiError]) -> str:
    for binding, error in errors.items():
        is_disabled = error.code is ErrorCode.SECURITY_DISABLED
        return _NO_AUTHORIZER if is_disabled else f"{binding_text(binding)}: {error}"
    return ""


def common_drift(answers: Answers) -> AclDrift:
    """Return the drift that all brokers show which answered: one alone may only lag behind.

    Raises:
        ClientError: there is none.
    """
    drifts = [answer for answer in answers.values() if isinstance(answer, AclDrift)]
    if not drifts:
        raise ClientError("; ".join(dict.fromkeys(map(str, answers.values()))))
    return AclDrift(
        frozenset.intersection(*(drift.missing for drift in drifts)),
        frozenset.intersection(*(drift.extra for drift in drifts)),
        drifts[0].outside,
    )


def look_ups(bindings: Bindings) -> Sequence[AclBindingFilter]:
    """Return a few filters that match these ACLs and maybe others; none where it takes too many."""
    if len(bindings) <= FEW:
        return [exactly(binding) for binding in bindings]
    patterns = {binding.pattern for binding in bindings}
    if len(patterns) <= FEW:
        filters = (ResourcePatternFilter(*pattern) for pattern in patterns)
        return [ANY_BINDING._replace(pattern=pattern) for pattern in filters]
    principals = {binding.entry.principal for binding in bindings}
    if len(principals) <= FEW:
        any_entry = ANY_BINDING.entry
        entries = (any_entry._replace(principal=principal) for principal in principals)
        return [ANY_BINDING._replace(entry=entry) for entry in entries]
    return []

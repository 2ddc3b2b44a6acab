"""A client that reads and changes ACLs: of a live cluster, or of a store in single-user mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from doorkeeper.acls.live_changes import LiveCluster
from doorkeeper.acls.model import ANY_BINDING, ResourceType, exactly
from doorkeeper.cli.terminal import say
from doorkeeper.client.errors import ClientError
from doorkeeper.client.identity import identity_of
from doorkeeper.client.open_by_default import is_open_by_default
from doorkeeper.server.schema.features import has_networks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractContextManager

    from doorkeeper.acls.entities.model import Entity, EntitySet
    from doorkeeper.acls.entities.plan import EntityChange
    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.acls.plan import Plan
    from doorkeeper.base.errors import ApiError
    from doorkeeper.client.admin import AdminClient
    from doorkeeper.client.config import ClientConfig
    from doorkeeper.client.identity import ScramLogin


class Listing(NamedTuple):
    """The ACLs that any broker of a few lists, sorted, and those that not all of them list."""

    bindings: list[AclBinding]
    doubtful: frozenset[AclBinding]


class ClusterSession:
    """A client of a live cluster, which reads and changes it.

    All methods raise RepositoryError; after one of a change it is unknown whether it was made.
    """

    def __init__(
        self,
        client: AdminClient,
        config: ClientConfig,
        translate_errors: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Take an open client, its configuration, and what makes its errors RepositoryErrors."""
        self._client = client
        self._config = config
        self._translate_errors = translate_errors
        self.deleted: set[AclBinding] = set()
        """What the cluster has answered that it deleted for this session."""

    async def cluster_id(self) -> str:
        """Return the id of the cluster; empty if it does not tell."""
        with self._translate_errors():
            return (await self._client.cluster()).cluster_id

    async def find(self, filters: Sequence[AclBindingFilter]) -> list[AclBinding]:
        """Return the bindings that match any of the filters, sorted, each once."""
        bindings: dict[AclBinding, None] = {}
        with self._translate_errors():
            for filter in filters:
                bindings.update(dict.fromkeys(await self._client.describe_acls(filter)))
        # The client has sorted the answer to one filter.
        return list(bindings) if len(filters) == 1 else sorted(bindings)

    async def listing(self) -> Listing:
        """Return what a few brokers list: see ``AdminClient.ask_few``."""
        describe = self._client.describe_acls
        with self._translate_errors():
            listings, silent = await self._client.ask_few(
                lambda id_: describe(ANY_BINDING, node_id=id_)
            )
        if silent:
            say(f"note: {silent} brokers did not answer: what only they list is missing")
        first = listings[0]
        every = set(first).union(*listings)
        doubtful = frozenset(every.difference(set(first).intersection(*listings)))
        return Listing(sorted(every) if doubtful else first, doubtful)

    async def matches_networks(self) -> bool | None:
        """Say whether the cluster matches networks; None if it does not tell its release."""
        with self._translate_errors():
            level = await self._client.metadata_version()
        return has_networks(level) if level else None

    async def live_cluster(self, present: AbstractSet[AclBinding], plan: Plan) -> LiveCluster:
        """Return what the rules of changes need to know for a plan; nothing else is asked for.

        What the login may not read is not known.
        """
        cluster = LiveCluster()
        changed = (*plan.added, *plan.removed)
        if any("/" in binding.entry.host for binding in (*present, *plan.added)):
            cluster = replace(cluster, matches_networks=await self.matches_networks())
        administers = any(
            binding.pattern.resource_type is ResourceType.CLUSTER for binding in changed
        )
        if plan.removed or administers:
            cluster = replace(cluster, open_by_default=await self._open_by_default())
        if administers:
            identity = await identity_of(self._config)
            logins = None if identity.principal is None else (identity.principal,)
            cluster = replace(cluster, logins=logins, login_doubt=identity.doubt)
        return cluster

    async def own_credential(self) -> ScramLogin | None:
        """Return the credential of SCRAM that this session logs in with; None without one."""
        return (await identity_of(self._config)).scram

    async def _open_by_default(self) -> bool | None:
        # It is not worth failing for: the caller says that it is not known.
        try:
            return await is_open_by_default(self._client)
        except ClientError:
            return None

    async def entities(self, desired: EntitySet) -> list[Entity] | None:
        """Return the present topics, credentials and quotas of the wanted or owned kinds.

        None if only ACLs can be read and changed there.
        """
        # Controllers describe no topics.
        if self._config.controllers:
            return None
        with self._translate_errors():
            return await self._client.describe_entities(desired)

    async def alter_entities(
        self, changes: Sequence[EntityChange], passwords: Mapping[str, str]
    ) -> list[ApiError | None]:
        """Make changes; return the error of each, or None. ``passwords`` are by reference."""
        with self._translate_errors():
            return [
                altered.error for altered in await self._client.alter_entities(changes, passwords)
            ]

    async def add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        """Create bindings; return the error of each, or None, in order."""
        with self._translate_errors():
            return [created.error for created in await self._client.create_acls(bindings)]

    async def remove_matching(self, filters: Sequence[AclBindingFilter]) -> list[ApiError | None]:
        """Delete the bindings that match filters; return the first error of each, or None."""
        with self._translate_errors():
            answers = await self._client.delete_acls(filters)
        rows = [row for answer in answers for row in answer.removed]
        self.deleted.update(row.binding for row in rows if row.error is None)
        return [answer.first_error for answer in answers]

    async def remove(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        """Delete exactly these bindings; return the error of each, or None, in order."""
        return await self.remove_matching([exactly(binding) for binding in bindings])

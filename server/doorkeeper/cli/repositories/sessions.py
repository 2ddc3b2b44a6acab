"""A client that reads and changes ACLs: of a live cluster, or of a store in single-user mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from msgspec.structs import replace

from doorkeeper.acls.live_changes import LiveCluster
from doorkeeper.acls.model import ANY_BINDING, ResourceType, exactly
from doorkeeper.cli.terminal import counted, say
from doorkeeper.client.errors import ClientError
from doorkeeper.client.identity import identity_of
from doorkeeper.client.open_by_default import is_open_by_default
from doorkeeper.server.schema.features import has_networks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
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

Answer = TypeVar("Answer")

_NAMES_MAX: Final = 5
"""The number of names in a note."""


class Listing(NamedTuple):
    """The ACLs that any broker of a few lists, sorted, and those that not all of them list."""

    bindings: list[AclBinding]
    doubtful: frozenset[AclBinding]


async def answers_of_few(
    client: AdminClient, ask: Callable[[int | None], Awaitable[Answer]]
) -> list[Answer]:
    """Return the answers of ``AdminClient.ask_few``; brokers without one are reported on stderr.

    Raises:
        ClientError: no broker answers.
    """
    answers, silent = await client.ask_few(ask)
    if silent:
        say(f"note: {counted(silent, 'broker')} did not answer: what only they list is missing")
    return answers


async def list_acls(
    client: AdminClient, filters: Sequence[AclBindingFilter] = (ANY_BINDING,)
) -> Listing:
    """Return the ACLs that match any of the filters, as a few brokers list them.

    Raises:
        ClientError: no broker answers, or the login may not list ACLs.
    """

    async def ask(node_id: int | None) -> list[AclBinding]:
        answers = [await client.describe_acls(filter, node_id=node_id) for filter in filters]
        return [binding for answer in answers for binding in answer]

    listings = await answers_of_few(client, ask)
    first = listings[0]
    every = set(first).union(*listings)
    doubtful = frozenset(every.difference(set(first).intersection(*listings)))
    # The client has sorted the answer to one filter.
    is_sorted = len(filters) == 1 and not doubtful
    return Listing(first if is_sorted else sorted(every), doubtful)


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

    async def listing(self, filters: Sequence[AclBindingFilter] = (ANY_BINDING,)) -> Listing:
        """Return the ACLs that match any of the filters, as a few brokers list them."""
        with self._translate_errors():
            return await list_acls(self._client, filters)

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

        Those are present that any broker of a few describes. None if only ACLs can be read and
        changed there.
        """
        # Controllers describe no topics.
        if self._config.controllers:
            return None
        describe = self._client.describe_entities
        with self._translate_errors():
            descriptions = await answers_of_few(
                self._client, lambda node_id: describe(desired, node_id=node_id)
            )
        present = {
            (type(entity), entity.key): entity
            # Of an entity that brokers describe differently, the first description counts.
            for description in reversed(descriptions)
            for entity in description
        }
        every = {entity for description in descriptions for entity in description}
        doubtful = every.difference(set(present.values()).intersection(*descriptions))
        if doubtful:
            names = sorted({str(entity.owner_name) for entity in doubtful})
            more = f" and {len(names) - _NAMES_MAX} more" if len(names) > _NAMES_MAX else ""
            shown = ", ".join(names[:_NAMES_MAX])
            say(f"note: brokers do not agree on {shown}{more}; a broker may lag: run this again")
        return list(present.values())

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

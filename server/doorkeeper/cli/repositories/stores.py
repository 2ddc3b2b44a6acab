"""The ACLs in the store of a server, as a repository.

With the standard authorizer they are read from the database, beside a server that runs. To change
them, or to read those of another authorizer, the server starts in single-user mode: the embedded
store must not be in use. A shared store can be changed while nodes run.

The ACLs as of a moment of the past come from the store's history, and so do those of a backup.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.live_changes import LiveCluster
from doorkeeper.acls.model import ANY_BINDING, AclBinding, AclBindingFilter
from doorkeeper.acls.plan import Plan
from doorkeeper.acls.search import find
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.repositories.repository import AclContents, AclRepository, live_cluster_of
from doorkeeper.cli.repositories.sessions import ClusterSession
from doorkeeper.cli.stores import open_history
from doorkeeper.cli.terminal import author
from doorkeeper.client.errors import ClientError
from doorkeeper.server.app.config_changes import dynamic_values
from doorkeeper.server.app.decision_settings import settings_of
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.app.stores import location_of, open_for_reading, open_store
from doorkeeper.server.authorizer.loading import authorizer_class
from doorkeeper.server.authorizer.standard import KeepsInStore, StandardAuthorizer
from doorkeeper.server.authorizer.standard_keys import POLICY_DEFAULTS, read_policy
from doorkeeper.server.config.keys import AUTHORIZER_CLASS_NAME
from doorkeeper.server.config.loading import with_stored_values
from doorkeeper.server.config.plug_ins import UnusableClass, one_line
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.config.store_keys import DATA_DIR
from doorkeeper.server.schema.features import has_networks, metadata_level
from doorkeeper.server.state.history.moments import Moment
from doorkeeper.server.state.history.reading import state_at
from doorkeeper.server.state.state import State
from doorkeeper.server.state.storage.files import DATABASE_NAME
from doorkeeper.server.state.storage.reading import StoredRows, read_acls, stored_rows
from doorkeeper.server.state.store import StorageError, StoreInUse

if TYPE_CHECKING:
    from doorkeeper.acls.entities.model import EntitySet
    from doorkeeper.base.errors import AuthorizerFault
    from doorkeeper.client.admin import AdminClient
    from doorkeeper.client.config import ClientConfig
    from doorkeeper.server.app.assembly import Assembly

_NO_AUTHORIZER: Final = f"there are no ACLs: {AUTHORIZER_CLASS_NAME} is not set"


class StoreRepository(AclRepository):
    """The ACLs in the embedded or shared store that a server's configuration names."""

    def __init__(self, address: Address, settings: Settings, at: Moment | None = None) -> None:
        """Take the address, the configuration that it stands for, and a moment; None is now."""
        self.address = address
        self._settings = settings
        self._at = at
        shared = settings.store
        location = f"in {settings[DATA_DIR]}" if shared is None else shared.display_name
        self.description = f"the store {location}{_as_of(at)}"

    async def read(self) -> AclContents:
        """Return the durable ACLs, and the policy of the configuration and the store."""
        with _translate_errors():
            return await self._read()

    @asynccontextmanager
    async def change(self, *, create: bool = False) -> AsyncIterator[StoreSession]:
        """Start the server of the store in single-user mode; the past cannot be changed."""
        if self._at is not None:
            raise RepositoryError(f"{self.description} is read-only")
        with _translate_errors():
            async with self._session(self._settings, changes=True, create=create) as session:
                yield session

    @asynccontextmanager
    async def _session(
        self, settings: Settings, *, changes: bool, create: bool = False
    ) -> AsyncIterator[StoreSession]:
        if not settings[AUTHORIZER_CLASS_NAME]:
            raise StartError(_NO_AUTHORIZER)
        # Imported here: to read a store no server is started.
        from doorkeeper.cli.single_user import client_config, start
        from doorkeeper.client.admin import AdminClient

        async with (
            start(settings, changes=changes, authorizer=True, make_store=create) as server,
            AdminClient(config := client_config(server, author())) as client,
        ):
            yield StoreSession(client, config, server)

    async def _read(self) -> AclContents:
        settings = self._settings
        name = settings[AUTHORIZER_CLASS_NAME]
        try:
            implementation = authorizer_class(name)
        except UnusableClass as error:
            raise StartError(str(error)) from error
        if implementation is None:
            raise StartError(_NO_AUTHORIZER)
        if implementation is not StandardAuthorizer:
            if self._at is not None:
                raise StartError(f"no history is available for the ACLs of {name}")
            # Its ACLs may be anywhere: only the authorizer itself can list them.
            # One that is attached to the store may write from its start on.
            changes = issubclass(implementation, KeepsInStore)
            async with self._session(settings, changes=changes) as session:
                bindings, _ = await session.listing()
                cluster_id = await session.cluster_id()
                policy = policy_of(settings)
                return AclContents(bindings, policy, authorizer=name, cluster_id=cluster_id)
        try:
            if self._at is not None:
                async with open_for_reading(location_of(settings), alone=False) as past:
                    return _past_contents(
                        await state_at(past, self._at),
                        settings,
                        node=self.address.kind is AddressKind.CONFIG,
                    )
            stored = await _read_store(settings)
        except StorageError as error:
            raise StartError(str(error)) from error
        settings, _ = with_stored_values(settings, dynamic_values(stored.configs, settings.node_id))
        return _contents(stored, policy_of(settings))


class BackupRepository(AclRepository):
    """The ACLs in a backup of an embedded store; read only."""

    def __init__(self, address: Address, at: Moment | None = None) -> None:
        """Take the address of a file, and a moment; None is the newest one."""
        self.address = address
        self._at = at
        self.description = f"the backup {address.target}{_as_of(at)}"

    async def read(self) -> AclContents:
        with _translate_errors():
            async with open_history(self.address) as backup:
                at = self._at or Moment((await backup.position()).revision, None)
                return _past_contents(await state_at(backup, at))


def _as_of(at: Moment | None) -> str:
    return "" if at is None else f", as of {at}"


def _contents(stored: StoredRows, policy: Policy) -> AclContents:
    return AclContents(
        sorted(row.binding for row in stored.bindings),
        policy,
        networks=has_networks(metadata_level(stored.features)),
        revision=stored.revision,
        cluster_id=stored.cluster_id,
        users=stored.users or None,
        topics=stored.topics or None,
    )


def _past_contents(
    state: State, settings: Settings | None = None, *, node: bool = False
) -> AclContents:
    """Return the ACLs of a state of the past, with its policy.

    ``settings`` give what the history lacks; their node is the one that is asked if ``node`` says
    so.

    Raises:
        StartError: a super user has no colon.
    """
    node_id = 0 if settings is None else settings.node_id
    dynamic = dynamic_values(state.configs, node_id)
    recorded = settings_of(state.settings, str(node_id) if node else None)
    policy, note = None, None
    if recorded is not None:
        policy = _policy({**recorded, **dynamic.cluster, **dynamic.broker})
    else:
        note = f"the history does not have {' and '.join(POLICY_DEFAULTS)} for that time"
        if settings is not None:
            policy = policy_of(with_stored_values(settings, dynamic)[0])
            note += "; the values of the current configuration are used"
    return AclContents(
        sorted(find(state.acls, ANY_BINDING)),
        policy,
        "configured" if recorded is None else "history",
        networks=has_networks(metadata_level(state.features)),
        revision=state.revision,
        note=note,
    )


async def _read_store(settings: Settings) -> StoredRows:
    if settings.store is None:
        return await asyncio.to_thread(read_acls, settings[DATA_DIR] / DATABASE_NAME)
    store = await open_store(settings, make_store=False, is_node=False)
    try:
        return stored_rows(store.rows, store.revision, store.identity.cluster_id)
    finally:
        await store.aclose()


def policy_of(settings: Settings) -> Policy:
    """Return the super users, and the default for resources without ACLs.

    Raises:
        StartError: a super user has no colon.
    """
    return _policy({entry.key: entry.value for entry in settings.entries})


def _policy(configs: Mapping[str, str]) -> Policy:
    try:
        return read_policy(configs)
    except ValueError as error:
        raise StartError(str(error)) from error


class StoreSession(ClusterSession):
    """A client of the server of a store, in single-user mode."""

    def __init__(self, client: AdminClient, config: ClientConfig, server: Assembly) -> None:
        super().__init__(client, config, self._report_faults)
        self._server = server

    async def entities(self, entities: EntitySet) -> None:
        """Return None: a file's topics, users and quotas are for a running cluster."""
        del entities

    async def live_cluster(self, present: AbstractSet[AclBinding], plan: Plan) -> LiveCluster:
        """Return what the rules of changes need to know; nobody logs in to a store."""
        del present, plan
        authorizer = self._server.authorizer
        return live_cluster_of(
            networks=await self.matches_networks(),
            policy=authorizer.policy if type(authorizer) is StandardAuthorizer else None,
        )

    async def matches_networks(self) -> bool | None:
        """Say whether the standard authorizer matches networks; None of another one."""
        guarded = self._server.guarded
        snapshot = None if guarded is None else guarded.snapshot()
        return None if snapshot is None else snapshot.matches_networks

    async def add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        """Create bindings; return the error of each, or None, in order."""
        return self._explain(await super().add(bindings))

    async def remove_matching(self, filters: Sequence[AclBindingFilter]) -> list[ApiError | None]:
        """Delete the bindings that match filters; return the first error of each, or None."""
        return self._explain(await super().remove_matching(filters))

    @contextmanager
    def _report_faults(self) -> Iterator[None]:
        """Report what the authorizer has raised, which a response hides."""
        try:
            yield
        except ClientError as error:
            raise RepositoryError(str(next(self._faults(), error))) from error

    def _faults(self) -> Iterator[AuthorizerFault]:
        authorizer = self._server.operator_authorizer
        while authorizer is not None and authorizer.faults:
            yield authorizer.faults.pop(0)

    def _explain(self, errors: list[ApiError | None]) -> list[ApiError | None]:
        faults = self._faults()
        return [
            ApiError(error.code, one_line(next(faults, error)))
            if error is not None and error.code is ErrorCode.UNKNOWN_SERVER_ERROR
            else error
            for error in errors
        ]


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except StartError as error:
        raise RepositoryError(*map(str, error.problems)) from error
    except StoreInUse as error:
        hint = "use the address of the running server (kafka://HOST:PORT)"
        raise RepositoryError(f"{error}; {hint}") from error
    except (ClientError, StorageError) as error:
        raise RepositoryError(str(error)) from error

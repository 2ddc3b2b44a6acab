"""From settings to a running server, and its orderly end.

    trail       its folder taken, where there is one
    store       opened, then everything in it is read
    authorizer  made and configured
    node        topics, groups (of the store and the catalog), who decides
    edge        ports bound, nobody let in
    nodes       where the store is shared: this one becomes one of them
    authorizer  started with the addresses
    edge        each listener opens when the authorizer says so

The end goes the same way back: the edge drains; authorizer, store and trail close.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Self

from doorkeeper import registry
from doorkeeper.acl_rows import AclRows
from doorkeeper.app.answer_truth import AnswerTruth
from doorkeeper.app.auditing import audit_sink, trail_of, watch
from doorkeeper.app.authorizing import (
    authorizer_of,
    placed,
    refused_start,
    server_info,
    started,
)
from doorkeeper.app.catalogs import NOTHING, catalog_of, declared_by
from doorkeeper.app.closing import close
from doorkeeper.app.config_changes import ConfigChanges, dynamic_values_of
from doorkeeper.app.credential_changes import CredentialChanges
from doorkeeper.app.doors import Doors
from doorkeeper.app.edge import limits_of, spec_of
from doorkeeper.app.errors import StartError
from doorkeeper.app.live_node import LiveNode
from doorkeeper.app.nodes import membership_of
from doorkeeper.app.reconfiguring import Reconfiguring
from doorkeeper.app.recorded_store import RecordedStore
from doorkeeper.app.services import NodeServices
from doorkeeper.app.stores import opened_store
from doorkeeper.app.token_changes import TokenChanges
from doorkeeper.app.topic_changes import TopicChanges
from doorkeeper.authn.provider import Sources
from doorkeeper.authorizer.awaiting import forget
from doorkeeper.authorizer.contract import Endpoint
from doorkeeper.authorizer.guard import GuardedAuthorizer
from doorkeeper.config.loading import with_kept
from doorkeeper.connection import Connection
from doorkeeper.metrics.hooks import ReloadMeter, StoreMeter, TrailMeter
from doorkeeper.metrics.requests import RequestMeter
from doorkeeper.metrics.series import Meters
from doorkeeper.net import BindError, Server
from doorkeeper.net.request_log import LOGGER_NAME, RequestLog
from doorkeeper.remembering import AnswerMemory
from doorkeeper.scram_users import ScramUsers
from doorkeeper.storage.contract import StorageError
from doorkeeper.topics import Topics, topic_of
from doorkeeper.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from doorkeeper.app.operating import Operating
    from doorkeeper.audit.trail import Trail
    from doorkeeper.authorizer.audit import AuditSink
    from doorkeeper.authorizer.contract import Authorizer
    from doorkeeper.catalog.loading import Catalog
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.authorizer_file import AuthorizerFile
    from doorkeeper.logs.pipeline import Logger, Logs
    from doorkeeper.net.spec import Offers
    from doorkeeper.storage.contract import Store


CLOSE_TIMEOUT_S = 2.0
"""How long the end waits for the disk of the authorizer's log."""


class Assembly:
    """One server with all its parts. For the loop's thread."""

    def __init__(
        self,
        settings: Settings,
        logs: Logs,
        now_ms: Callable[[], int],
        *,
        store: Store | None = None,
        connect: Callable[..., Connection] = Connection,
    ) -> None:
        """Prepare; nothing is opened yet.

        Without a store it is the one that the settings name. ``connect`` makes the protocol's side
        of each connection: a server for tests has faults there.
        """
        self._settings = settings
        self._logs = logs
        self._now_ms = now_ms
        self._store = store
        self._connect = connect
        self._log: Logger = logs.logger("doorkeeper.server")
        self._opened = AsyncExitStack()
        self._waits: Mapping[Endpoint, asyncio.Future[None]] = {}
        self.authorizer: Authorizer | None = None
        """The authorizer as it was configured."""
        self.guarded: GuardedAuthorizer | None = None
        """The same, behind its guard: what the server asks."""
        self.meters = Meters()
        self.reloads = ReloadMeter(self.meters)
        self.operating: Operating | None = None
        """The operations port, where it is on."""
        self._draining = False
        self._authorizer_started = False
        self.trail: Trail | None = None
        """The record of what is decided and changed."""
        self.declared = NOTHING
        """What the catalog declares, which a reload compares with the new one."""
        self.addresses: dict[str, str] = {}
        """What clients dial, ``host:port`` by listener; complete when ``start`` is."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self._draining = True
        await self._opened.aclose()

    async def start(self) -> None:
        """Open everything.

        Raises:
            StartError: it cannot be; what is open closes with the assembly.

        """
        try:
            await self._start()
        except (BindError, StorageError) as error:
            raise StartError(placed(self._settings.entries, error)) from error

    async def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self.trail = self._open_trail(loop)
        store = await self._open_store()
        self._opened.push_async_callback(store.aclose)
        if self.trail is not None:
            store = RecordedStore(store, self.trail.changed)
        settings = self._use_kept(store)
        problems: list[str] = []
        catalog = self._make_authorizer(settings, store, problems)
        self.credential_changes = CredentialChanges(
            ScramUsers(store.credentials()), store, loop, self._log
        )
        self.token_changes = self._make_tokens(settings, store)
        offers = await self._open_doors(store, settings, problems)
        if problems:
            raise StartError(*problems)
        self.declared = declared_by(catalog, store.cluster_id)
        self.topic_changes = TopicChanges(
            Topics(self.declared.topics).with_stored(map(topic_of, store.topics())),
            store,
            loop,
            on_failure=self._not_stored,
        )
        self.node = LiveNode(
            settings=settings,
            cluster_id=store.cluster_id,
            authorizer=self.guarded,
            topic_changes=self.topic_changes,
            credential_changes=self.credential_changes,
            tokens=self.token_changes,
            groups=self.declared.groups,
            random_bytes=os.urandom,
        )
        if self.guarded is not None:
            self.node.acl_rows = AclRows(self.guarded.snapshot)
        services = NodeServices(self.topic_changes, self.credential_changes, self.token_changes)
        self.edge = self._make_edge(settings, offers, services)
        self.reconfiguring = Reconfiguring(
            node=self.node,
            authorizer=self.authorizer,
            edge=self.edge,
            doors=self.doors,
            tokens=self.token_changes,
            logs=self._logs,
        )
        self.config_changes = ConfigChanges(
            store, self.reconfiguring, self.topic_changes, self._log
        )
        services.config_changes = self.config_changes
        await self._open_operations(settings, store)
        await self.edge.bind()
        self._opened.push_async_callback(self._drain)
        endpoints = self._advertise()
        await self._join_others(settings)
        store.start(loop)
        self.doors.watch(self.edge.use_offers)
        await self._open_listeners(self.guarded, endpoints)
        self._begin_changes()
        self._record_start(settings, store)

    def _begin_changes(self) -> None:
        self.topic_changes.begin()
        self.credential_changes.begin()
        self.token_changes.begin()
        self.config_changes.begin()

    def _record_start(self, settings: Settings, store: Store) -> None:
        if self.trail is not None:
            self.trail.started(
                cluster_id=store.cluster_id,
                version=__version__,
                authorizer=settings.authorizer_class_name or None,
                listeners=[f"{name}={address}" for name, address in self.addresses.items()],
            )

    def _open_trail(self, loop: asyncio.AbstractEventLoop) -> Trail | None:
        settings = self._settings
        logger = self._logs.logger("doorkeeper.audit")
        trail = trail_of(
            settings.audit, settings.node_id, loop, logger=logger, meter=TrailMeter(self.meters)
        )
        if trail is not None:
            self._opened.callback(trail.close)
        return trail

    async def _open_operations(self, settings: Settings, store: Store) -> None:
        if settings.http is None:
            return
        # What it needs of others is imported only where it is on.
        from doorkeeper.app.operating import Operating, Parts  # noqa: PLC0415

        parts = Parts(
            self.edge,
            limits_of(settings),
            store,
            self.node,
            self.guarded,
            loaded=lambda: self._loaded,
            draining=lambda: self._draining,
        )
        logger = self._logs.logger("doorkeeper.http")
        operating = Operating(settings.http, parts, self.meters, logger)
        self._opened.push_async_callback(operating.close)
        await operating.open()
        self.operating = operating
        logger.info("operations port open", url=operating.url)

    @property
    def _loaded(self) -> bool:
        """Say whether the authorizer has loaded what it decides from."""
        # An authorizer may name no endpoint: then nothing waits for it.
        return self._authorizer_started and all(_succeeded(wait) for wait in self._waits.values())

    async def _join_others(self, settings: Settings) -> None:
        """Become one of the nodes that share the store; leave them before the edge drains."""
        log = self._logs.logger("doorkeeper.nodes")
        membership = membership_of(settings, self.node, self.token_changes, log)
        if membership is not None and self._store is None:
            self._opened.push_async_callback(membership.leave)
            await membership.enter()

    def _make_edge(
        self, settings: Settings, offers: Mapping[str, Offers], services: NodeServices
    ) -> Server:
        return Server(
            [spec_of(each, offers[each.name]) for each in settings.listeners],
            limits_of(settings),
            self.node,
            self.guarded,
            services,
            self._logs.logger("doorkeeper.net"),
            apis=partial(registry.api, optional=settings.clients_join_group),
            connect=self._connected(),
            requests=None if settings.http is None else RequestMeter(self.meters),
            trail=self.trail,
            request_log=RequestLog(self._logs.logger(LOGGER_NAME)),
        )

    def _connected(self) -> Callable[..., Connection]:
        """Return what makes connections: plain ones share a memory, others have faults to keep."""
        if self._connect is not Connection:
            return self._connect
        truth = AnswerTruth(self.node, self.guarded)
        memory = AnswerMemory(truth.of, self.guarded, limits_of(self._settings))
        return partial(Connection, memory=memory)

    def _make_tokens(self, settings: Settings, store: Store) -> TokenChanges:
        tokens = TokenChanges(
            store.tokens(),
            store,
            asyncio.get_running_loop(),
            now_ms=self._now_ms,
            random_bytes=os.urandom,
            logger=self._logs.logger("doorkeeper.tokens"),
        )
        tokens.use(settings)
        self._opened.callback(tokens.close)
        return tokens

    async def _open_doors(
        self, store: Store, settings: Settings, problems: list[str]
    ) -> dict[str, Offers]:
        """Make and start what clients prove with who they are; note what is wrong with it."""
        sources = Sources(
            scram_credential=self.credential_changes.credential,
            scram_iterations=self.credential_changes.usual_iterations,
            token_login=self.token_changes.login,
            salt_key=store.salt_key,
            now_ms=self._now_ms,
            logger=self._logs.logger("doorkeeper.authn"),
        )
        self.doors = Doors(sources, self._log)
        self._opened.push_async_callback(self.doors.close)
        try:
            return self.doors.use(await self.doors.prepare(settings.listeners, settings.originals))
        except StartError as error:
            problems += [placed(settings.entries, ValueError(each)) for each in error.problems]
            return {}

    async def _open_store(self) -> Store:
        if self._store is not None:
            return self._store
        meter = StoreMeter(self.meters)
        return await opened_store(self._settings, now_ms=self._now_ms, meter=meter)

    def _audit_sink(self, settings: Settings) -> AuditSink:
        def opened(file: AuthorizerFile) -> None:
            self._opened.callback(file.close, CLOSE_TIMEOUT_S)

        path = settings.authorizer_log_file
        return audit_sink(path, self._logs.audit, self._log, opened)

    def _make_authorizer(
        self, settings: Settings, store: Store, problems: list[str]
    ) -> Catalog | None:
        """Make the authorizer, and return the catalog; note what is wrong with both."""
        catalog = None
        try:
            self.authorizer = authorizer_of(settings.entries, store, self._audit_sink(settings))
        except StartError as error:
            problems += error.problems
        if self.authorizer is not None:
            self.guarded = GuardedAuthorizer(self.authorizer, slow_ms=settings.authorizer_slow_ms)
            self._opened.callback(self._close_authorizer, self.guarded)
            if self.trail is not None:
                watch(self.trail, self.guarded, self.authorizer)
        try:
            catalog = catalog_of(settings.catalog_file)
        except StartError as error:
            problems += error.problems
        return catalog

    def _use_kept(self, store: Store) -> Settings:
        """Put the dynamic values of the store over the file; tell which of them do not fit it."""
        values = dynamic_values_of(store, self._settings.node_id)
        self._settings, problems = with_kept(self._settings, values)
        for problem in problems:
            self._log.error("a dynamic value has no effect", problem=str(problem))
        self._logs.set_levels(self._settings.log_levels)
        return self._settings

    def _advertise(self) -> list[Endpoint]:
        """Tell the node the ports that are bound; return the endpoints for the authorizer."""
        host_name = ""
        endpoints = []
        for listener in self._settings.listeners:
            if listener.advertised_host is None and not host_name:
                host_name = socket.getfqdn()
            port = self.edge.bound_port(listener.name)
            broker = self.node.advertise(listener, port, host_name)
            host = f"[{broker.host}]" if ":" in broker.host else broker.host
            self.addresses[listener.name] = f"{host}:{broker.port}"
            endpoints.append(Endpoint(listener.name, listener.security_protocol, broker.host, port))
        return endpoints

    async def _open_listeners(
        self, authorizer: Authorizer | None, endpoints: list[Endpoint]
    ) -> None:
        """Start the authorizer; open each listener when it may, and wait for the last."""
        if authorizer is None:
            for endpoint in endpoints:
                await self.edge.open(endpoint.listener_name)
            return
        info = server_info(self._settings, self.node.cluster_id, endpoints)
        self._waits = started(authorizer, self._settings, info)
        self._authorizer_started = True
        try:
            async with asyncio.TaskGroup() as group:
                for endpoint in endpoints:
                    group.create_task(self._open_after(self._waits.get(endpoint), endpoint))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _open_after(self, wait: asyncio.Future[None] | None, endpoint: Endpoint) -> None:
        # An endpoint that the authorizer does not mention waits for nothing, as in Kafka.
        if wait is not None:
            try:
                # Endpoints may share a future: one that gives up must not cancel it for others.
                await asyncio.shield(wait)
            except asyncio.CancelledError as error:
                if not wait.cancelled():
                    raise
                # It is not this start that was given up, but what it waits for.
                raise refused_start(self._settings, error) from error
            except Exception as error:
                raise refused_start(self._settings, error) from error
        await self.edge.open(endpoint.listener_name)

    def _close_authorizer(self, authorizer: GuardedAuthorizer) -> None:
        close(authorizer, self._log)
        for wait in self._waits.values():
            # Its authorizer should have failed it. Nobody waits for it any longer.
            wait.cancel()
            forget(wait)

    async def _drain(self) -> None:
        cut_off = await self.edge.drain(self._settings.shutdown_drain_ms / 1000)
        if cut_off:
            self._log.warning("connections cut off", connections=cut_off)

    def _not_stored(self, error: StorageError) -> None:
        self._log.error("topics could not be stored", cause=str(error))


def _succeeded(wait: asyncio.Future[None]) -> bool:
    return wait.done() and not wait.cancelled() and wait.exception() is None

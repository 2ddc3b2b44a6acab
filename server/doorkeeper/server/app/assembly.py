"""Construction of a server from settings, and its orderly shutdown.

 store       opened; everything but the ACLs is read
 audit log   opened, if configured
 authorizer  constructed and configured
 node        combines the state log and the authorizer
 edge        ports bound, no connection accepted yet
 membership  with a shared store: the node joins the cluster
 state log   started: loads the ACLs, then takes changes
 authorizer  started with the addresses
 edge        each listener opens when the authorizer permits

The shutdown runs in reverse: the edge drains; authorizer, state log and audit log close.

A command on a stopped store starts the same parts in single-user mode: ``start_single_user``.
"""

from __future__ import annotations

import asyncio
import math
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from doorkeeper.base.credentials import ScramCredential
from doorkeeper.base.entry import Problem
from doorkeeper.base.version import __version__
from doorkeeper.server.api.acl_rows import AclRows
from doorkeeper.server.api.node import AuthorizerUpdates
from doorkeeper.server.app.audit_log import open_audit_log, watch
from doorkeeper.server.app.authorizer import (
    authorizer_of,
    close,
    open_authorizer_file,
    refused_start,
    server_info,
    start_authorizer,
)
from doorkeeper.server.app.clusters import fleet_of, record_event
from doorkeeper.server.app.config_changes import ConfigChanges, dynamic_values
from doorkeeper.server.app.data_path import NOTICE, DataPath, open_data_path
from doorkeeper.server.app.decision_settings import first_settings, record_settings
from doorkeeper.server.app.delegation_tokens import DelegationTokens
from doorkeeper.server.app.errors import StartError, locate
from doorkeeper.server.app.history import HashRecords, read_history
from doorkeeper.server.app.listeners import ServerSecurity, options_of
from doorkeeper.server.app.node import LiveNode, NodeServices, membership_of
from doorkeeper.server.app.policies import policies_of
from doorkeeper.server.app.reconfiguration import Reconfiguration
from doorkeeper.server.app.single_user import OperatorAuthorizer
from doorkeeper.server.app.stores import check_release, log_credentials, open_store
from doorkeeper.server.authorizer.awaitables import are_done, forget
from doorkeeper.server.authorizer.contract import Authorizer, AuthorizerLog, Endpoint
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.config.audit_keys import AUDIT_DIR
from doorkeeper.server.config.keys import (
    ACKNOWLEDGE,
    ACKNOWLEDGE_CLUSTERS,
    AUTHORIZER_CLASS_NAME,
    AUTHORIZER_LOG_FILE,
    AUTHORIZER_SLOW_MS,
    AUTHORIZER_UPDATES_THREAD,
    CLUSTERS_FILE,
    LOG_LEVELS,
    SHUTDOWN_DRAIN_MS,
    UPDATE_TIMEOUT_MS,
)
from doorkeeper.server.config.loading import with_stored_values
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.config.store_keys import DATA_DIR, STORE_MAX_AGE_MS
from doorkeeper.server.net import BindError, Server
from doorkeeper.server.net.limits import limits_of
from doorkeeper.server.net.options import ConnectionSecurity, ListenerSpec
from doorkeeper.server.net.protocol.connection import Connection
from doorkeeper.server.net.request_log import LOGGER_NAME
from doorkeeper.server.operations.logs.pipeline import Logger, Logs
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.runtime.clock import utc_ms
from doorkeeper.server.runtime.metrics.meters import (
    AuditMeter,
    ReloadMeter,
    RequestMeter,
    StoreMeter,
)
from doorkeeper.server.runtime.metrics.series import Meters
from doorkeeper.server.security.provider import Sources
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.storage.files import missing_folders, remove_empty
from doorkeeper.server.state.store import StorageError, Store

if TYPE_CHECKING:
    from doorkeeper.server.app.operations_port import OperationsPort
    from doorkeeper.server.operations.audit.audit_log import AuditLog
    from doorkeeper.server.state.postgres.membership import Membership


CLOSE_TIMEOUT_S = 2.0
"""How long the shutdown waits for the file of the authorizer's log."""

AUTHORIZER_START_S = 10.0
"""A listener that waits longer for the authorizer is logged: its port refuses clients meanwhile."""


class Assembly:
    """One server with all its parts. For the event loop's thread."""

    def __init__(
        self,
        settings: Settings,
        logs: Logs,
        now_ms: Callable[[], int] | None = None,
        *,
        store: Store | None = None,
        connect: Callable[..., Connection] = Connection,
        single_user: bool = False,
    ) -> None:
        """Nothing is opened yet.

        ``store`` replaces the configured one. ``connect`` constructs the protocol's side of each
        connection: a test server injects faults there. In ``single_user`` mode the process is not
        a node of the store, and the audit log has no event of its end.
        """
        self.settings = settings
        """The configuration, once it is loaded with the dynamic values of the store."""
        self._logs = logs
        self._now_ms = now_ms or utc_ms
        self._store_now_ms = now_ms
        self._store = store
        self._connect = connect
        self._single_user = single_user
        self._log: Logger = logs.logger("doorkeeper.server")
        self._opened = AsyncExitStack()
        self._waits: Mapping[Endpoint, asyncio.Future[None]] = {}
        self.authorizer: Authorizer | None = None
        """The authorizer as configured."""
        self.guarded: GuardedAuthorizer | None = None
        """The same authorizer behind its guard, as the server calls it."""
        self.operator_authorizer: OperatorAuthorizer | None = None
        """The same authorizer in single-user mode, as the operator's connection sees it."""
        self.policies = Policies()
        self.meters = Meters()
        self.reloads = ReloadMeter(self.meters)
        self.operations_port: OperationsPort | None = None
        """The operations port, if enabled."""
        self._draining = False
        self.keeps_files = False
        """Whether a client could change something; until then, the end removes new files."""
        self._authorizer_started = False
        self.audit_log: AuditLog | None = None
        """The audit log, if enabled."""
        self.addresses: dict[str, str] = {}
        """Advertised ``host:port`` by listener; complete after ``start``."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self._draining = True
        await self._opened.aclose()

    async def start(self) -> None:
        """Open everything.

        Raises:
            StartError: it failed; closing the assembly closes the open parts, and removes the files
                that this start has created.
        """
        try:
            await self._start()
        except (BindError, StorageError) as error:
            raise StartError(locate(self.settings.entries, error)) from error

    async def start_single_user(self, *, changes: bool, authorizer: bool) -> None:
        """Start without ports, pages, clusters and other nodes, for ``connect_operator``.

        ``changes`` says that the client may change something, which the audit log then records.
        Without ``authorizer`` none is constructed: there are no ACLs then.

        Raises:
            StorageError: a server uses the store, there is none, or it cannot be opened.
            StartError: another part did not start; closing the assembly closes the open parts.
        """
        if changes:
            self.open_audit_log()
        # The server logs values that do not fit the file.
        self._use_stored()
        settings = self.settings
        if authorizer:
            self._make_authorizer()
        self.tokens = self._make_tokens()
        self.node = self._make_node()
        if self.guarded is not None:
            self.operator_authorizer = OperatorAuthorizer(self.guarded)
        self._operator_node = self.node.for_operator(self.operator_authorizer)
        timeout_s = settings[UPDATE_TIMEOUT_MS] / 1000
        services = NodeServices(self.log, self.tokens, self.operator_authorizer, timeout_s)
        self.edge = self._make_edge((), services, None)
        await self.edge.bind()
        self._opened.push_async_callback(self._drain)
        self.log.start()
        if self.guarded is not None:
            endpoints = [
                Endpoint(
                    listener.name,
                    listener.security_protocol,
                    listener.advertised_host or listener.host,
                    listener.port,
                )
                for listener in settings.listeners
            ]
            self._start_authorizer(self.guarded, endpoints)
            for endpoint in self._waits:
                await self._wait_for(endpoint)
        self.keeps_files = True

    async def connect_operator(self) -> socket.socket:
        """Return the client's end of a connection inside the process, in single-user mode."""
        return await self.edge.connect_operator(self._operator_node)

    async def _start(self) -> None:
        await self.open_log()
        self.open_audit_log()
        check_release(self.settings, self.log.state.features)
        for problem in self._use_stored():
            self._log.error("dynamic value has no effect", problem=str(problem))
        settings = self.settings
        self._logs.set_levels(settings[LOG_LEVELS])
        problems: list[str] = []
        for make in (self._make_authorizer, self._make_policies):
            try:
                make()
            except StartError as error:
                problems += error.problems
        self.tokens = self._make_tokens()
        security: dict[str, ConnectionSecurity] = {}
        try:
            security = await self._open_security()
        except StartError as error:
            problems += [locate(settings.entries, problem) for problem in error.problems]
        if problems:
            raise StartError(*problems)
        self.node = self._make_node()
        data_path = open_data_path(settings, self.node, self.log)
        if data_path is not None:
            self._opened.callback(data_path.close)
            self.node.apis = self.node.apis.with_apis(data_path.apis)
            self._log.warning(NOTICE, memory_bytes=settings.test_broker_memory_bytes)
        services = self._make_services()
        specs = [options_of(listener, security[listener.name]) for listener in settings.listeners]
        self.edge = self._make_edge(specs, services, data_path)
        self.reconfiguration = Reconfiguration(
            node=self.node,
            authorizer=self.authorizer,
            edge=self.edge,
            security=self.security,
            tokens=self.tokens,
            logs=self._logs,
        )
        self.config_changes = ConfigChanges(
            self.log, self.reconfiguration, self._log, self.policies
        )
        # Registered before the edge, so it runs after the drain.
        self._opened.callback(self.config_changes.close)
        services.alter_configs = self.config_changes.alter_configs
        await self._open_operations()
        self._record_hashes()
        await self.edge.bind()
        self._opened.push_async_callback(self._drain)
        endpoints = self._advertise()
        services.membership = await self._join_others()
        self.record_settings()
        self.log.start()
        self.security.watch(self.edge.use_security)
        if self.fleet is not None:
            self.fleet.start()
        await self._open_listeners(endpoints)
        self.tokens.start()
        self._record_start()

    def _make_node(self) -> LiveNode:
        node = LiveNode(
            settings=self.settings,
            log=self.log,
            authorizer=self.guarded,
            tokens=self.tokens,
            random_bytes=os.urandom,
            now_ms=self._now_ms,
            policies=self.policies,
        )
        if self.guarded is not None:
            node.acl_rows = AclRows(self.guarded.snapshot)
        return node

    def _make_services(self) -> NodeServices:
        """Construct the services of connections, and the clusters that get changes of ACLs."""
        record = partial(record_event, self._logs.logger("doorkeeper.clusters"), self.audit_log)
        self.fleet = fleet_of(
            self.settings[CLUSTERS_FILE], self.log, self.guarded, record, self._now_ms
        )
        if self.fleet is not None:
            # Before the edge, so that it ends after the drain: changes may wait for clusters.
            self._opened.push_async_callback(self.fleet.close)
        updates: AuthorizerUpdates | None = self.guarded
        if (
            self.fleet is not None
            and self.guarded is not None
            and self.settings[ACKNOWLEDGE] == ACKNOWLEDGE_CLUSTERS
        ):
            updates = self.fleet.acknowledging(self.guarded)
        return NodeServices(self.log, self.tokens, updates, self.settings[UPDATE_TIMEOUT_MS] / 1000)

    def record_settings(self) -> None:
        """Record the settings of decisions, unless a store was given: it has no history."""
        if self._store is None:
            record_settings(self.log, self.node.settings, self._log)

    def _record_hashes(self) -> None:
        """Log hashes of the history, unless a store was given: it has none."""
        if self._store is not None:
            return
        logger = self._logs.logger("doorkeeper.history")
        records = HashRecords(
            partial(read_history, self.settings), lambda: self.log.state.revision, logger
        )
        self._opened.push_async_callback(records.close)
        records.start()

    def _record_start(self) -> None:
        if self.audit_log is not None:
            self.audit_log.record_start(
                cluster_id=self.log.cluster_id,
                version=__version__,
                authorizer=self.settings[AUTHORIZER_CLASS_NAME] or None,
                listeners=[f"{name}={address}" for name, address in self.addresses.items()],
            )

    def open_audit_log(self) -> None:
        """Open the configured audit log, if any; from now on it has the changes of the log.

        Raises:
            StartError: the folder cannot be used, or another server writes there.
        """
        logger, meter = self._logs.logger("doorkeeper.audit"), AuditMeter(self.meters)
        self.audit_log = open_audit_log(self.settings, logger, meter)
        if self.audit_log is not None:
            self.log.subscribe(self.audit_log.record_commit)

    def _close_audit_log(self) -> None:
        if self.audit_log is None:
            return
        if self.keeps_files:
            self.audit_log.close(serves=not self._single_user)
        else:
            self.audit_log.discard()

    def _remove_new_folders(self, missing: Sequence[Path]) -> None:
        if not self.keeps_files:
            remove_empty(missing)

    async def _close_log(self) -> None:
        await self.log.aclose(discard=not self.keeps_files)

    async def _open_operations(self) -> None:
        if self.settings.http is None:
            return
        # Its modules (aiohttp, prometheus_client) are imported only if the port is enabled.
        from doorkeeper.server.app.operations_port import OperationsPort, Parts

        parts = Parts(
            self.edge,
            self.log,
            self.node,
            self.guarded,
            loaded=lambda: self._is_loaded,
            draining=lambda: self._draining,
            history=partial(read_history, self.settings) if self._store is None else None,
            fleet=self.fleet,
            notice="" if self.settings.test_broker_memory_bytes is None else NOTICE,
        )
        logger = self._logs.logger("doorkeeper.http")
        operations_port = OperationsPort(self.settings.http, parts, self.meters, logger)
        self._opened.push_async_callback(operations_port.close)
        await operations_port.open()
        self.operations_port = operations_port
        logger.info("operations port open", url=operations_port.url)

    @property
    def _is_loaded(self) -> bool:
        # Without endpoints nothing waits for the authorizer.
        return self._authorizer_started and all(
            wait.done() and not wait.cancelled() and wait.exception() is None
            for wait in self._waits.values()
        )

    async def _join_others(self) -> Membership | None:
        """Join the nodes of a shared store; the shutdown leaves it before the edge drains.

        Return None with an embedded store.
        """
        log = self._logs.logger("doorkeeper.nodes")
        membership = membership_of(self.node, self.log.store_id, self.tokens, log)
        if membership is None or self._store is not None:
            return None
        self._opened.push_async_callback(membership.leave)
        await membership.enter()
        return membership

    def _make_edge(
        self,
        specs: Sequence[ListenerSpec],
        services: NodeServices,
        data_path: DataPath | None,
    ) -> Server:
        return Server(
            specs,
            limits_of(self.settings),
            self.node,
            self.guarded,
            services,
            self._logs.logger("doorkeeper.net"),
            apis=self.node.apis,
            disconnected=None if data_path is None else data_path.disconnected,
            connect=self._connect,
            requests=None if self.settings.http is None else RequestMeter(self.meters),
            audit_log=self.audit_log,
            request_log=self._logs.logger(LOGGER_NAME),
        )

    def _make_tokens(self) -> DelegationTokens:
        tokens = DelegationTokens(
            self.log,
            now_ms=self._now_ms,
            random_bytes=os.urandom,
            logger=self._logs.logger("doorkeeper.tokens"),
        )
        tokens.use(self.settings)
        self._opened.callback(tokens.close)
        return tokens

    async def _open_security(self) -> dict[str, ConnectionSecurity]:
        """Construct and start the security of all listeners.

        Raises:
            StartError: with every problem.
        """
        sources = Sources(
            scram_credential=self._scram_credential,
            scram_iterations=self._scram_iterations,
            token_login=self.tokens.login,
            salt_key=self.log.store.identity.salt_key,
            now_ms=self._now_ms,
            logger=self._logs.logger("doorkeeper.authn"),
        )
        self.security = ServerSecurity(sources, self._log)
        self._opened.push_async_callback(self.security.close)
        prepared = await self.security.prepare(self.settings.listeners, self.settings.originals)
        return self.security.use(prepared)

    def _scram_credential(self, mechanism: str, user: str) -> ScramCredential | None:
        return self.log.state.credentials.credential(mechanism, user)

    def _scram_iterations(self, mechanism: str) -> int:
        return self.log.state.credentials.usual_iterations(mechanism)

    async def open_log(self, *, make_store: bool = True) -> None:
        """Open the store, and the state log over it; ``make_store`` permits its creation.

        Raises:
            StorageError: a server uses the store, there is none, or it cannot be opened.
        """
        settings = self.settings
        missing = missing_folders(
            folder for folder in (settings[DATA_DIR], settings[AUDIT_DIR]) if folder is not None
        )
        self._opened.callback(self._remove_new_folders, missing)
        # Closed last: closing the state log may still commit changes.
        self._opened.callback(self._close_audit_log)
        store = self._store
        if store is None and self._single_user:
            store = await open_store(settings, make_store=make_store, is_node=False)
        elif store is None:
            store = await open_store(
                settings,
                now_ms=self._store_now_ms,
                meter=StoreMeter(self.meters),
                logger=self._log,
                initial=first_settings(settings),
            )
        self._opened.push_async_callback(store.aclose)
        max_age_ms = settings[STORE_MAX_AGE_MS]
        self.log = StateLog(
            store,
            self._logs.logger("doorkeeper.state"),
            max_age_s=max_age_ms / 1000 if max_age_ms >= 0 else None,
        )
        self._opened.push_async_callback(self._close_log)
        log_credentials(self.log, self._log)

    def _authorizer_log(self) -> AuthorizerLog:
        usual, path = self._logs.authorizer_log, self.settings[AUTHORIZER_LOG_FILE]
        if path is None:
            return usual
        file = open_authorizer_file(path, usual, self._log)
        self._opened.callback(
            lambda: (file.close if self.keeps_files else file.discard)(CLOSE_TIMEOUT_S)
        )
        return file

    def _make_authorizer(self) -> None:
        """Construct the authorizer.

        Raises:
            StartError: it cannot be loaded, or rejects its configuration.
        """
        self.authorizer = authorizer_of(self.settings.entries, self.log, self._authorizer_log())
        if self.authorizer is None:
            return
        self.guarded = GuardedAuthorizer(
            self.authorizer,
            slow_ms=self.settings[AUTHORIZER_SLOW_MS],
            updates_in_thread=self.settings[AUTHORIZER_UPDATES_THREAD],
        )
        self._opened.callback(self._close_authorizer, self.guarded)
        if self.audit_log is not None:
            watch(self.audit_log, self.guarded, self.authorizer)

    def _make_policies(self) -> None:
        """Construct the policies; raises as ``_make_authorizer``."""
        self.policies = policies_of(self.settings.static, slow_ms=self.settings[AUTHORIZER_SLOW_MS])
        self._opened.callback(self.policies.close)

    def _use_stored(self) -> list[Problem]:
        """Apply the dynamic values of the store; return the problems of those without an effect."""
        values = dynamic_values(self.log.state.configs, self.settings.node_id)
        self.settings, problems = with_stored_values(self.settings, values)
        return problems

    def _advertise(self) -> list[Endpoint]:
        """Give the node its bound ports; return the endpoints for the authorizer."""
        host_name = ""
        endpoints = []
        for listener in self.settings.listeners:
            if listener.advertised_host is None and not host_name:
                host_name = socket.getfqdn()
            port = self.edge.listeners[listener.name].port
            broker = self.node.advertise(listener, port, host_name)
            host = f"[{broker.host}]" if ":" in broker.host else broker.host
            self.addresses[listener.name] = f"{host}:{broker.port}"
            endpoints.append(Endpoint(listener.name, listener.security_protocol, broker.host, port))
        return endpoints

    async def _open_listeners(self, endpoints: list[Endpoint]) -> None:
        """Start the authorizer; open each listener when it permits, and wait for the last."""
        if self.guarded is not None:
            self._start_authorizer(self.guarded, endpoints)
        try:
            async with asyncio.TaskGroup() as group:
                for endpoint in endpoints:
                    group.create_task(self._open_after_authorizer(endpoint))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    def _start_authorizer(self, authorizer: GuardedAuthorizer, endpoints: list[Endpoint]) -> None:
        info = server_info(self.settings, self.node.cluster_id, endpoints)
        self._waits = start_authorizer(authorizer, self.settings, info)
        self._authorizer_started = True

    async def _open_after_authorizer(self, endpoint: Endpoint) -> None:
        # An endpoint that the authorizer does not return opens at once, as in Kafka.
        if endpoint in self._waits:
            await self._wait_for(endpoint)
        self.keeps_files = True
        self.edge.listeners[endpoint.listener_name].open()

    async def _wait_for(self, endpoint: Endpoint) -> None:
        """Wait until the authorizer permits an endpoint."""
        wait = self._waits[endpoint]
        if not await are_done((wait,), AUTHORIZER_START_S):
            self._log.warning(
                "a listener stays closed until the authorizer has loaded",
                listener=endpoint.listener_name,
                authorizer=self.settings[AUTHORIZER_CLASS_NAME],
            )
            await are_done((wait,), math.inf)
        error = asyncio.CancelledError() if wait.cancelled() else wait.exception()
        if error is not None:
            raise refused_start(self.settings, error) from error

    def _close_authorizer(self, authorizer: GuardedAuthorizer) -> None:
        close(authorizer, self._log)
        for wait in self._waits.values():
            # A future that the authorizer has left pending: nothing waits for it any more.
            wait.cancel()
            forget(wait)

    async def _drain(self) -> None:
        cut_off = await self.edge.drain(self.settings[SHUTDOWN_DRAIN_MS] / 1000)
        if cut_off:
            self._log.warning(
                "connections closed before their pending responses were sent", connections=cut_off
            )

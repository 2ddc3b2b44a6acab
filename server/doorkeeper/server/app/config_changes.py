"""Changes of broker and topic configuration by requests: validate, store, then use.

Requests are processed one at a time, each on the result of the one before it. If an authorizer
fails to use values that it accepted, the old values are stored again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from doorkeeper.base.config_errors import ConfigError
from doorkeeper.base.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.config.loading import resolve
from doorkeeper.server.config.naming import LISTENER_PREFIX
from doorkeeper.server.config.settings import DynamicValues, Settings
from doorkeeper.server.resources.policies.contract import ConfigAlteration, ConfigResourceType
from doorkeeper.server.resources.policies.guard import Policies
from doorkeeper.server.resources.settings.broker import alter_values, check_replicas
from doorkeeper.server.resources.settings.operations import AlteredResource
from doorkeeper.server.resources.settings.resources import plan_alteration
from doorkeeper.server.resources.topics.plans import plan_alteration as plan_topic_alteration
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.change import Change, Committed, edit
from doorkeeper.server.schema.declared import CONFIG, StoredConfig
from doorkeeper.server.schema.kind import Table
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.outcome import commit
from doorkeeper.server.state.state import State

if TYPE_CHECKING:
    from doorkeeper.server.app.reconfiguration import Reconfiguration, Usable
    from doorkeeper.server.operations.logs.pipeline import Logger

ALL_BROKERS = ""


def dynamic_values(rows: Iterable[StoredConfig], node_id: int) -> DynamicValues:
    """Return the dynamic values of a node from the rows of a store."""
    values: dict[str, dict[str, str]] = {ALL_BROKERS: {}, str(node_id): {}}
    for row in rows:
        values.setdefault(row.broker, {})[row.name] = row.value
    return DynamicValues(values[str(node_id)], values[ALL_BROKERS])


class ConfigChanges:
    """Changes configuration, and uses the changes of other nodes. For the event loop's thread."""

    def __init__(
        self,
        log: StateLog,
        reconfiguration: Reconfiguration,
        logger: Logger,
        policies: Policies,
    ) -> None:
        """Follow the log from its current state, whose values are already in use."""
        self._policies = policies
        self._state_log = log
        self._reconfiguration = reconfiguration
        self.turn = asyncio.Lock()
        """Lock of everything that validates and uses configuration, including a reload."""
        self._log: Logger = logger
        self._followed = log.state.configs
        self._following: asyncio.Task[None] | None = None
        log.subscribe(self._on_commit, CONFIG)

    def close(self) -> None:
        """Stop following other nodes."""
        if self._following is not None:
            self._following.cancel()

    async def alter_configs(
        self, resources: Sequence[AlteredResource], context: RequestContext, *, validate_only: bool
    ) -> list[ApiError | None]:
        """Alter each resource as a whole or not at all; return why each was refused, or None."""
        errors: list[ApiError | None] = []
        async with self.turn:
            for resource in resources:
                try:
                    await self._alter(resource, context, validate_only=validate_only)
                except ApiError as error:
                    errors.append(error)
                else:
                    errors.append(None)
        return errors

    async def _alter(
        self, resource: AlteredResource, context: RequestContext, *, validate_only: bool
    ) -> None:
        broker = ConfigResourceType.BROKER
        if resource.kind != broker:
            # Topics, groups and subscriptions to client metrics: a revision for each resource.
            plan = partial(self._plan, resource)
            if validate_only:
                plan(self._state_log.state)
            else:
                await commit(self._state_log, plan, context)
            return
        before = self._reconfiguration.settings.dynamic
        of_cluster = not resource.name
        check_replicas(resource.alterations, of_cluster=of_cluster)
        given = resource.current_values(before)
        values = alter_values(given, resource.alterations, of_cluster=of_cluster)
        after = before._replace(cluster=values) if of_cluster else before._replace(broker=values)
        settings = self._settings(after)
        try:
            usable = await self._reconfiguration.check(settings)
        except (ValueError, StartError) as error:
            raise ApiError(ErrorCode.INVALID_REQUEST, "; ".join(str(error).splitlines())) from error
        changed = {
            alteration.name: values.get(alteration.name) for alteration in resource.alterations
        }
        # Also keys with the value that they have: a controller records those of brokers again.
        self._policies.check_alteration(ConfigAlteration(broker, resource.name, changed))
        if validate_only:
            return
        if after != before:
            await self._store_and_use(before, usable, context)
        elif any(name.startswith(LISTENER_PREFIX) for name in changed):
            # A store that is named again: its file has changed, as on a broker.
            await self._reconfiguration.refresh()

    def _plan(self, resource: AlteredResource, state: State) -> tuple[Change, None]:
        if resource.kind == ConfigResourceType.TOPIC:
            return plan_topic_alteration(state.topics, resource, self._policies), None
        number = self._reconfiguration.settings.number
        return plan_alteration(state.resource_configs, resource, number, self._policies), None

    def _settings(self, dynamic: DynamicValues) -> Settings:
        try:
            now = self._reconfiguration.settings
            return resolve(now.static, dynamic, now.jaas_file)
        except ConfigError as error:
            text = "; ".join(f"{problem.key}: {problem.text}" for problem in error.problems)
            raise ApiError(ErrorCode.INVALID_REQUEST, text) from error

    async def _store_and_use(
        self, before: DynamicValues, usable: Usable, context: RequestContext
    ) -> None:
        after = usable.settings.dynamic
        await self._store(before, after, context)
        try:
            self._reconfiguration.use(usable)
        except AuthorizerFault as error:
            # It had accepted them: restore the old values, so that the store and the values in use
            # agree.
            self._log.exception(
                "the authorizer failed to use a configuration that it accepted",
                authorizer=error.authorizer,
            )
            await self._store(after, before, context)
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
        keys = _names(differences_of(before, after))
        client = context.authorizable
        principal, host = str(client.principal), client.client_address
        self._log.info("dynamic configs changed", keys=keys, principal=principal, host=host)

    async def _store(
        self, before: DynamicValues, after: DynamicValues, context: RequestContext
    ) -> None:
        differences = differences_of(before, after)
        node_id = self._reconfiguration.settings.node_id
        await commit(
            self._state_log,
            lambda state: (plan_configs(state.configs, differences, node_id), None),
            context,
        )

    # --- what other nodes do

    def _on_commit(self, committed: Committed) -> None:
        """Schedule the use of another node's change."""
        is_newer = self._state_log.state.configs is not self._followed
        if committed.origin is None and is_newer and self._following is None:
            self._following = asyncio.ensure_future(self._follow())

    async def _follow(self) -> None:
        try:
            while self._state_log.state.configs is not self._followed:
                async with self.turn:
                    await self._use_newest()
        finally:
            self._following = None

    async def _use_newest(self) -> None:
        settings = self._reconfiguration.settings
        before = dynamic_values(self._followed, settings.node_id)
        self._followed = self._state_log.state.configs
        # Only newer changes: values that did not fit before are not tried again.
        newer = differences_of(before, dynamic_values(self._followed, settings.node_id))
        dynamic = _with(settings.dynamic, newer)
        if dynamic == settings.dynamic:
            return
        keys = _names(differences_of(settings.dynamic, dynamic))
        try:
            self._reconfiguration.use(await self._reconfiguration.check(self._settings(dynamic)))
        except (ApiError, AuthorizerFault, StartError, ValueError) as error:
            self._log.error(
                "dynamic values of another node have no effect here",
                keys=keys,
                cause=str(error),
            )
        else:
            self._log.info("dynamic configs changed by another node", keys=keys)


Differences = Mapping[tuple[bool, str], str | None]
"""New values by whether they are the cluster's, and key; None: no value."""


def differences_of(before: DynamicValues, after: DynamicValues) -> Differences:
    """Return the differences: the node's values by name, then the cluster's."""
    return {
        (of_cluster, name): new.get(name)
        for of_cluster, old, new in zip((False, True), before, after, strict=True)
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    }


def _names(differences: Differences) -> str:
    return ", ".join(sorted({name for _, name in differences}))


def plan_configs(rows: Table[StoredConfig], differences: Differences, node_id: int) -> Change:
    """Return the change that stores new values of a node and the cluster."""
    put = []
    gone = []
    for (of_cluster, name), value in differences.items():
        broker = ALL_BROKERS if of_cluster else str(node_id)
        row = rows.get(broker, name)
        if value is not None:
            put.append(StoredConfig(broker, name, value))
        elif row is not None:
            gone.append(row)
    return edit(CONFIG, set=put, deleted=gone)


def _with(values: DynamicValues, differences: Differences) -> DynamicValues:
    """Return values after some changes."""
    of_broker, of_cluster = dict(values.broker), dict(values.cluster)
    for (is_of_cluster, name), value in differences.items():
        of_owner = of_cluster if is_of_cluster else of_broker
        if value is None:
            of_owner.pop(name, None)
        else:
            of_owner[name] = value
    return DynamicValues(of_broker, of_cluster)

"""Changing keys of brokers and topics over the wire: judged, durable, then used.

One request at a time: each is judged on what the one before it left. A value is kept in the store
before it is used; where an authorizer fails to use what it accepted, the old values are kept again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from doorkeeper.app.errors import StartError
from doorkeeper.app.not_stored import not_stored
from doorkeeper.app.topic_changes import author_of
from doorkeeper.broker_configs import altered, check_replicas
from doorkeeper.config.dynamic_values import DynamicValues
from doorkeeper.config.errors import ConfigError
from doorkeeper.config.loading import settled
from doorkeeper.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.storage.contract import Change, ConfigKey, Participant, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from doorkeeper.app.reconfiguring import Reconfiguring, Usable
    from doorkeeper.app.topic_changes import TopicChanges
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.node import AlterConfigs, AlteredResource, RequestContext
    from doorkeeper.storage.contract import Author, Store, StoredState

ALL_BROKERS = ""


def dynamic_values_of(store: Store, node_id: int) -> DynamicValues:
    """Return the values that a store keeps for a node."""
    return dynamic_values(store.configs(), node_id)


def dynamic_values(kept: Iterable[tuple[ConfigKey, str]], node_id: int) -> DynamicValues:
    """Return the values for a node, of those that were read from a store."""
    values: dict[str, dict[str, str]] = {ALL_BROKERS: {}, str(node_id): {}}
    for key, value in kept:
        values.setdefault(key.broker, {})[key.name] = value
    return DynamicValues(values[str(node_id)], values[ALL_BROKERS])


class ConfigChanges(Participant):
    """Who changes keys. For the loop's thread."""

    def __init__(
        self,
        store: Store,
        reconfiguring: Reconfiguring,
        topic_changes: TopicChanges,
        logger: Logger,
    ) -> None:
        """Wait for ``begin``."""
        self._store = store
        self._reconfiguring = reconfiguring
        self._topic_changes = topic_changes
        self.turn = asyncio.Lock()
        """Whoever changes keys, a reload too, has it while it judges and uses them."""
        self._begun = asyncio.Event()
        self._log: Logger = logger
        self._others: dict[ConfigKey, str | None] = {}
        self._following: asyncio.Future[None] | None = None
        store.join(self)

    def begin(self) -> None:
        """Let changes go to the store; until then, while ACLs are read from it, they wait."""
        self._begun.set()

    async def alter_configs(
        self, change: AlterConfigs, context: RequestContext
    ) -> Sequence[ApiError | None]:
        """Change each resource as a whole or not at all; the results are in order."""
        await self._begun.wait()
        results: list[ApiError | None] = []
        async with self.turn:
            for resource in change.resources:
                try:
                    await self._alter(resource, context, validate_only=change.validate_only)
                except ApiError as error:
                    results.append(error)
                else:
                    results.append(None)
        return results

    async def _alter(
        self, resource: AlteredResource, context: RequestContext, *, validate_only: bool
    ) -> None:
        if resource.is_topic:
            error = await self._topic_changes.alter_topic(
                resource, context, validate_only=validate_only
            )
            if error is not None:
                raise error
            return
        before = self._reconfiguring.settings.dynamic
        after = _after(before, resource)
        settings = self._settings(after)
        try:
            usable = await self._reconfiguring.check(settings)
        except (ValueError, StartError) as error:
            raise ApiError(ErrorCode.INVALID_REQUEST, "; ".join(str(error).splitlines())) from error
        if not validate_only and after != before:
            await self._keep_and_use(before, usable, author_of(context))

    def _settings(self, dynamic: DynamicValues) -> Settings:
        try:
            now = self._reconfiguring.settings
            return settled(now.given, dynamic, now.jaas_file).settings
        except ConfigError as error:
            text = "; ".join(f"{each.key}: {each.text}" for each in error.problems)
            raise ApiError(ErrorCode.INVALID_REQUEST, text) from error

    async def _keep_and_use(self, before: DynamicValues, usable: Usable, author: Author) -> None:
        after = usable.settings.dynamic
        node_id = self._reconfiguring.settings.node_id
        await self._stored(change_between(before, after, node_id, author))
        try:
            self._reconfiguring.use(usable)
        except AuthorizerFault as error:
            # It said that it would. Old values in the store, and in use, are one state again.
            self._log.exception(
                "the authorizer failed to use a configuration that it accepted",
                authorizer=error.authorizer,
            )
            await self._stored(change_between(after, before, node_id, author))
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
        names = sorted(
            {key for old, new in zip(before, after, strict=True) for key in _keys(old, new)}
        )
        self._log.info(
            "keys changed", keys=", ".join(names), principal=author.principal, host=author.host
        )

    async def _stored(self, change: Change) -> None:
        done: asyncio.Future[int | StorageError] = asyncio.get_running_loop().create_future()
        self._store.submit(lambda: change, done.set_result)
        outcome = await done
        if isinstance(outcome, StorageError):
            self._log.error("keys could not be stored", cause=str(outcome))
            raise not_stored(outcome)
        self._others_before(change)

    # --- what other nodes do

    def follow(self, change: Change) -> None:
        """Use values that were given to another node for all, or for this one, in their turn."""
        self._take({key: value for key, value in _values_of(change).items() if self._counts(key)})

    async def reload(self, state: StoredState) -> None:
        """Use a whole state, in its turn."""
        dynamic = self._reconfiguring.settings.dynamic
        owners = (str(self._reconfiguring.settings.node_id), ALL_BROKERS)
        gone = {
            ConfigKey(owner, name): None
            for owner, values in zip(owners, dynamic, strict=True)
            for name in values
        }
        kept = {key: value for key, value in state.configs if self._counts(key)}
        self._take({**gone, **kept})

    def _counts(self, key: ConfigKey) -> bool:
        return key.broker in (ALL_BROKERS, str(self._reconfiguring.settings.node_id))

    def _take(self, values: Mapping[ConfigKey, str | None]) -> None:
        if not values:
            return
        self._others.update(values)
        if self._following is None:
            self._following = asyncio.ensure_future(self._use_others())

    def _others_before(self, change: Change) -> None:
        """Forget what others gave to the keys of a change of ours that is durable: it is newer."""
        for key in _values_of(change):
            self._others.pop(key, None)

    async def _use_others(self) -> None:
        await self._begun.wait()
        while self._others:
            async with self.turn:
                others, self._others = self._others, {}
                try:
                    dynamic = _with(self._reconfiguring.settings, others)
                    usable = await self._reconfiguring.check(self._settings(dynamic))
                    self._reconfiguring.use(usable)
                except (ApiError, AuthorizerFault, StartError, ValueError) as error:
                    self._log.error(
                        "values that another node was given have no effect here",
                        keys=", ".join(sorted(key.name for key in others)),
                        cause=str(error),
                    )
                else:
                    self._log.info(
                        "keys changed by another node",
                        keys=", ".join(sorted(key.name for key in others)),
                    )
        self._following = None


def change_between(
    before: DynamicValues, after: DynamicValues, node_id: int, author: Author
) -> Change:
    """Return what the store must write so that it holds other values."""
    put: list[tuple[ConfigKey, str]] = []
    gone: list[ConfigKey] = []
    owners = (str(node_id), ALL_BROKERS)
    for owner, old, new in zip(owners, before, after, strict=True):
        for name in sorted(_keys(old, new)):
            if name in new:
                put.append((ConfigKey(owner, name), new[name]))
            else:
                gone.append(ConfigKey(owner, name))
    return Change(author=author, configs_set=tuple(put), configs_deleted=tuple(gone))


def _values_of(change: Change) -> dict[ConfigKey, str | None]:
    """Return what a change gives; None for a value that goes."""
    return {**dict.fromkeys(change.configs_deleted), **dict(change.configs_set)}


def _with(settings: Settings, values: Mapping[ConfigKey, str | None]) -> DynamicValues:
    """Return the values that count with others over them."""
    after = DynamicValues(dict(settings.dynamic.broker), dict(settings.dynamic.cluster))
    for key, value in values.items():
        of_owner = {**(after.broker if key.broker else after.cluster)}
        if value is None:
            of_owner.pop(key.name, None)
        else:
            of_owner[key.name] = value
        after = after._replace(broker=of_owner) if key.broker else after._replace(cluster=of_owner)
    return after


def _keys(old: Mapping[str, str], new: Mapping[str, str]) -> set[str]:
    return {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}


def _after(before: DynamicValues, resource: AlteredResource) -> DynamicValues:
    of_cluster = not resource.name
    check_replicas(resource.alterations, of_cluster=of_cluster)
    values = altered(resource.given_of(before), resource.alterations, of_cluster=of_cluster)
    return before._replace(cluster=values) if of_cluster else before._replace(broker=values)

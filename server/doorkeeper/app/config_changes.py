"""Changing keys of brokers and topics over the wire: judged, durable, then used.

One request at a time: each is judged on what the one before it left. A value is kept in the store
before it is used; where an authorizer fails to use what it accepted, the old values are kept again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from doorkeeper.app.errors import StartError
from doorkeeper.app.topic_changes import author_of
from doorkeeper.broker_configs import altered, check_replicas
from doorkeeper.config.dynamic_values import DynamicValues
from doorkeeper.config.errors import ConfigError
from doorkeeper.config.loading import settled
from doorkeeper.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.storage.contract import Change, ConfigKey, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from doorkeeper.app.reconfiguring import Reconfiguring, Usable
    from doorkeeper.app.topic_changes import TopicChanges
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.node import AlterConfigs, AlteredResource, RequestContext
    from doorkeeper.storage.contract import Author, Store

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


class ConfigChanges:
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
        self._store.submit(change, done.set_result)
        outcome = await done
        if isinstance(outcome, StorageError):
            self._log.error("keys could not be stored", cause=str(outcome))
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, "The change could not be stored.")


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


def _keys(old: Mapping[str, str], new: Mapping[str, str]) -> set[str]:
    return {key for key in old.keys() | new.keys() if old.get(key) != new.get(key)}


def _after(before: DynamicValues, resource: AlteredResource) -> DynamicValues:
    of_cluster = not resource.name
    check_replicas(resource.alterations, of_cluster=of_cluster)
    values = altered(resource.given_of(before), resource.alterations, of_cluster=of_cluster)
    return before._replace(cluster=values) if of_cluster else before._replace(broker=values)

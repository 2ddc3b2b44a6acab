"""ACLs without a server: its store and its authorizer, without listeners.

The embedded store is its server's alone, which must be stopped. With a store that nodes share this
is one more node, as long as it takes.

The authorizer is made, configured and started as by the server, with the dynamic values that the
store keeps; what it changes has no request context, because no client asked.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

import structlog

from doorkeeper.app.authorizing import authorizer_of, one_line, refused_start, server_info, started
from doorkeeper.app.closing import close
from doorkeeper.app.command_logs import command_logs
from doorkeeper.app.config_changes import dynamic_values_of
from doorkeeper.app.errors import StartError
from doorkeeper.app.offline_trail import OfflineTrail, recorded_store
from doorkeeper.authorizer.awaiting import as_future, forget
from doorkeeper.authorizer.contract import (
    AclCreateResult,
    AclDeleteResult,
    Endpoint,
    KeepsInStore,
)
from doorkeeper.authorizer.guard import GuardedAuthorizer
from doorkeeper.authorizer.returned import is_create_result, is_delete_result
from doorkeeper.authorizer.standard import THE_SERVER, StandardAuthorizer
from doorkeeper.config.audit import AuditSettings
from doorkeeper.config.loading import with_kept
from doorkeeper.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.storage.contract import StorageError, StoreInUse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from doorkeeper.acl.model import AclBinding, AclBindingFilter
    from doorkeeper.authorizer.contract import Authorizer
    from doorkeeper.config.settings import Settings
    from doorkeeper.storage.contract import Store

LOOK_S: Final = 0.1
"""How often to look at futures that a thread may have completed without waking the loop."""


class OfflineAcls:
    """The ACLs as the authorizer has them. What it refuses is an ``ApiError`` of the item.

    What is changed is in the trail, where one is given, before its results are returned.
    """

    def __init__(
        self,
        authorizer: GuardedAuthorizer,
        timeout_s: float,
        trail: OfflineTrail | None = None,
        *,
        keeps_elsewhere: bool = False,
    ) -> None:
        """Take an authorizer that has started; ``keeps_elsewhere`` says not in the store."""
        self._authorizer = authorizer
        self._timeout_s = timeout_s
        self._trail = OfflineTrail(AuditSettings(), 0) if trail is None else trail
        self._keeps_elsewhere = keeps_elsewhere

    def find(self, filters: Sequence[AclBindingFilter]) -> list[AclBinding]:
        """Return what any of the filters matches, sorted, each once.

        Raises:
            AuthorizerFault: it fails to answer.

        """
        found: set[AclBinding] = set()
        for wanted in filters:
            found.update(self._authorizer.acls(wanted))
        return sorted(found)

    async def add(self, bindings: Sequence[AclBinding]) -> list[AclCreateResult]:
        """Create bindings; the results are in order.

        Raises:
            AuthorizerFault: it fails as a whole.
            StartError: the audit trail cannot be written.

        """
        async with self._trail.recording():
            given = self._authorizer.create_acls(None, bindings)
            results = await self._results(given, AclCreateResult, is_create_result)
            if self._keeps_elsewhere and self._trail.is_open:
                from doorkeeper.audit.making import created  # noqa: PLC0415  with a trail only

                self._trail.changed(created(bindings, results, THE_SERVER), None)
        return results

    async def remove(self, filters: Sequence[AclBindingFilter]) -> list[AclDeleteResult]:
        """Delete what the filters match; the results are in order.

        Raises:
            AuthorizerFault: it fails as a whole.
            StartError: the audit trail cannot be written.

        """
        async with self._trail.recording():
            given = self._authorizer.delete_acls(None, filters)
            results = await self._results(given, AclDeleteResult, is_delete_result)
            if self._keeps_elsewhere and self._trail.is_open:
                from doorkeeper.audit.making import deleted  # noqa: PLC0415  with a trail only

                self._trail.changed(deleted(results, THE_SERVER), None)
        return results

    async def _results(
        self, given: Sequence[Any], failed: Callable[[ApiError], Any], right: Callable[[Any], bool]
    ) -> list[Any]:
        loop = asyncio.get_running_loop()
        futures = [as_future(each, loop) for each in given]
        until_s = loop.time() + self._timeout_s
        pending = set(futures)
        while pending and loop.time() < until_s:
            _, pending = await asyncio.wait(pending, timeout=min(LOOK_S, self._timeout_s))
        return [self._result(each, failed, right) for each in futures]

    def _result(
        self,
        future: asyncio.Future[Any],
        failed: Callable[[ApiError], Any],
        right: Callable[[Any], bool],
    ) -> object:
        if not future.done():
            forget(future)
            return failed(ApiError(ErrorCode.REQUEST_TIMED_OUT))
        error = asyncio.CancelledError() if future.cancelled() else future.exception()
        if error is None and right(future.result()):
            return future.result()
        if isinstance(error, ApiError):
            return failed(error)
        cause = error or TypeError(f"found {future.result()!r:.80}; expected is a result")
        fault = AuthorizerFault(self._authorizer.name, "an item", cause)
        return failed(ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, one_line(fault)))


def run_offline(
    settings: Settings, work: Callable[[OfflineAcls], Awaitable[None]], *, make_store: bool = False
) -> None:
    """Do something with the ACLs of a server that is stopped; its log goes to stderr.

    ``make_store`` says that the server need not have started yet.

    Raises:
        StartError: a server uses the store, there is none, or there is no authorizer.

    """
    with command_logs():
        try:
            asyncio.run(_run(settings, work, make_store=make_store))
        except StoreInUse as error:
            hint = "ask the server that uses it (--bootstrap-server, or the place kafka://...)"
            raise StartError(f"{error}; {hint}") from error
        except StorageError as error:
            raise StartError(str(error)) from error


async def _run(
    settings: Settings, work: Callable[[OfflineAcls], Awaitable[None]], *, make_store: bool
) -> None:
    async with _opened(settings, make_store=make_store) as acls:
        await work(acls)


@asynccontextmanager
async def _opened(settings: Settings, *, make_store: bool) -> AsyncIterator[OfflineAcls]:
    if not settings.authorizer_class_name:
        raise StartError("there are no ACLs: authorizer.class.name names no authorizer")
    async with recorded_store(settings, make_store=make_store) as (store, trail):
        settings, _ = with_kept(settings, dynamic_values_of(store, settings.node_id))
        made = authorizer_of(settings.entries, store)
        assert made is not None, "its name is not empty"
        authorizer = GuardedAuthorizer(made, slow_ms=settings.authorizer_slow_ms)
        try:
            if _changes_unasked(made):
                trail.open()
            await _start(authorizer, settings, store)
            timeout_s = settings.update_timeout_ms / 1000
            elsewhere = not isinstance(made, KeepsInStore)
            yield OfflineAcls(authorizer, timeout_s, trail, keeps_elsewhere=elsewhere)
        finally:
            close(authorizer, structlog.get_logger("doorkeeper.offline"))


def _changes_unasked(authorizer: Authorizer) -> bool:
    """Say whether an authorizer may write to the store from its start on, as a plug-in may."""
    return type(authorizer) is not StandardAuthorizer and isinstance(authorizer, KeepsInStore)


async def _start(authorizer: GuardedAuthorizer, settings: Settings, store: Store) -> None:
    """Start it as the server does; its endpoints are those of the file, and nobody listens."""
    endpoints = [
        Endpoint(each.name, each.security_protocol, each.advertised_host or each.host, each.port)
        for each in settings.listeners
    ]
    store.start(asyncio.get_running_loop())
    waits = started(authorizer, settings, server_info(settings, store.cluster_id, endpoints))
    for wait in waits.values():
        try:
            await wait
        except Exception as error:
            raise refused_start(settings, error) from error

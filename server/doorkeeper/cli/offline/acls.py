"""ACLs of a stopped server: its store and its authorizer, without listeners.

The embedded store belongs to one process, so its server must be stopped. With a shared store the
command is one more node for its duration.

The authorizer is constructed, configured and started as in the server, with the dynamic values of
the store; its changes have no request context.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import AclBinding, AclBindingFilter
from doorkeeper.base.errors import ApiError, AuthorizerFault, ErrorCode
from doorkeeper.cli.offline.log import OfflineAuditLog, offline_log
from doorkeeper.server.app.authorizer import (
    authorizer_of,
    close,
    one_line,
    refused_start,
    server_info,
    start_authorizer,
)
from doorkeeper.server.app.config_changes import dynamic_values
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.authorizer.contract import (
    AclCreateResult,
    AclDeleteResult,
    Authorizer,
    Endpoint,
)
from doorkeeper.server.authorizer.guard import GuardedAuthorizer
from doorkeeper.server.authorizer.standard import KeepsInStore, StandardAuthorizer
from doorkeeper.server.authorizer.standard_keys import read_policy
from doorkeeper.server.config.audit import AuditSettings
from doorkeeper.server.config.loading import with_stored_values
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.operations.logs.command_log import command_logs
from doorkeeper.server.runtime.lean_structlog import structlog
from doorkeeper.server.schema.change import Committed, Edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.outcome import Results
from doorkeeper.server.state.state import State
from doorkeeper.server.state.store import StorageError, StoreInUse

NO_EDIT: Final = Edit((), ())


class OfflineAcls:
    """The ACLs of the authorizer. A rejected item has an ``ApiError`` in its result.

    Changes are in the audit log, if there is one, before their results are returned.
    """

    def __init__(
        self,
        authorizer: GuardedAuthorizer,
        timeout_s: float,
        audit_log: OfflineAuditLog | None = None,
        *,
        keeps_elsewhere: bool = False,
        log: StateLog | None = None,
        policy: Policy | None = None,
    ) -> None:
        """``authorizer`` has started; ``keeps_elsewhere``: its ACLs are not in the store.

        ``log`` is the state log below it, not yet started; ``policy`` is that of the standard
        authorizer.
        """
        self.policy = policy
        self._log = log
        self._others: list[Committed] = []
        self._conflict = 0
        if log is not None:
            log.subscribe(self._note_other, ACL)
        self._authorizer = authorizer
        self._timeout_s = timeout_s
        self._audit_log = OfflineAuditLog(AuditSettings(), 0) if audit_log is None else audit_log
        self._keeps_elsewhere = keeps_elsewhere

    def refuse_after(self, revision: int, concerns: Callable[[AclBinding], bool]) -> None:
        """Refuse further changes once another node has changed ACLs of a condition.

        Changes behind ``revision`` count, up to the state that a change is planned on. A change
        that is refused is not stored, and raises StartError.
        """
        assert self._log is not None

        def check(_: State) -> None:
            for each in self._others:
                rows = each.change.get(ACL, NO_EDIT)
                # What a reload of everything brought is not known.
                is_known = bool(each.change)
                if each.revision > revision and (
                    not is_known or any(concerns(row.binding) for row in (*rows.set, *rows.deleted))
                ):
                    self._conflict = each.revision
                    raise ApiError(ErrorCode.INVALID_REQUEST)

        self._log.check = check

    def _raise_conflict(self) -> None:
        if self._conflict:
            raise StartError(
                f"not changed: revision {self._conflict}, which another node has made meanwhile,"
                " concerns the plan (doorkeeper history show REVISION)"
            )

    def _note_other(self, committed: Committed) -> None:
        if committed.origin is None:
            self._others.append(committed)

    def find(self, filters: Sequence[AclBindingFilter]) -> list[AclBinding]:
        """Return the bindings that any of the filters matches, sorted, without duplicates.

        Raises:
            AuthorizerFault: the authorizer fails.

        """
        found: set[AclBinding] = set()
        for wanted in filters:
            found.update(self._authorizer.acls(wanted))
        return sorted(found)

    def matches_networks(self) -> bool | None:
        """Say whether the standard authorizer matches networks; None of another one."""
        snapshot = self._authorizer.snapshot()
        return None if snapshot is None else snapshot.matches_networks

    async def add(self, bindings: Sequence[AclBinding]) -> list[AclCreateResult]:
        """Create bindings; the results are in order.

        Raises:
            AuthorizerFault: the authorizer fails as a whole.
            StartError: the audit log cannot be written, or ``refuse_after`` refuses.

        """
        async with self._audit_log.recording():
            results = await self._authorizer.create(None, bindings, self._timeout_s)
            if self._keeps_elsewhere:
                self._audit_log.record_report(bindings, results.values)
        self._raise_conflict()
        return self._with_causes(results)

    async def remove(self, filters: Sequence[AclBindingFilter]) -> list[AclDeleteResult]:
        """Delete the bindings that the filters match; the results are in order.

        Raises:
            AuthorizerFault: the authorizer fails as a whole.
            StartError: the audit log cannot be written, or ``refuse_after`` refuses.

        """
        async with self._audit_log.recording():
            results = await self._authorizer.delete(None, filters, self._timeout_s)
            if self._keeps_elsewhere:
                self._audit_log.record_report(filters, results.values)
        self._raise_conflict()
        return self._with_causes(results)

    def _with_causes(self, results: Results) -> list[Any]:
        """Return the values with the authorizer's errors, which a server hides from clients."""
        errors = iter(results.errors)
        return [each._replace(error=self._fault(each.error, errors)) for each in results.values]

    def _fault(self, error: ApiError | None, raised: Iterator[BaseException]) -> ApiError | None:
        if error is None or error.code is not ErrorCode.UNKNOWN_SERVER_ERROR or error.message:
            return error
        cause = next(raised, None)
        if cause is None:
            return error
        fault = AuthorizerFault(self._authorizer.name, "an item", cause)
        return ApiError(error.code, one_line(fault))


@asynccontextmanager
async def open_acls(settings: Settings, *, make_store: bool = False) -> AsyncIterator[OfflineAcls]:
    """Start the authorizer of a stopped server; its log goes to stderr.

    ``make_store`` permits the creation of the store.

    Raises:
        StartError: a server uses the store, there is none, or there is no authorizer.

    """
    with command_logs():
        try:
            async with _open(settings, make_store=make_store) as acls:
                yield acls
        except StoreInUse as error:
            hint = "use the address of the server that has it (kafka://HOST:PORT)"
            raise StartError(f"{error}; {hint}") from error
        except StorageError as error:
            raise StartError(str(error)) from error


@asynccontextmanager
async def _open(settings: Settings, *, make_store: bool) -> AsyncIterator[OfflineAcls]:
    if not settings.authorizer_class_name:
        raise StartError("there are no ACLs: authorizer.class.name names no authorizer")
    async with offline_log(settings, make_store=make_store) as (log, audit_log):
        values = dynamic_values(log.state.configs, settings.node_id)
        # Values that do not fit are left out, as by the server, which logs them.
        settings, _ = with_stored_values(settings, values)
        made = authorizer_of(settings.entries, log)
        assert made is not None, "its name is not empty"
        authorizer = GuardedAuthorizer(made, slow_ms=settings.authorizer_slow_ms)
        elsewhere = not isinstance(made, KeepsInStore)
        timeout_s = settings.update_timeout_ms / 1000
        # Before the start: from then on the log follows other nodes.
        acls = OfflineAcls(
            authorizer,
            timeout_s,
            audit_log,
            keeps_elsewhere=elsewhere,
            log=log,
            policy=_policy(settings) if type(made) is StandardAuthorizer else None,
        )
        try:
            # Such an authorizer may change the store during start(), before the first command.
            if _changes_unasked(made):
                audit_log.open()
            await _start(authorizer, settings, log)
            yield acls
        finally:
            # Submit changes that the authorizer has begun without awaiting them.
            await asyncio.sleep(0)
            close(authorizer, structlog.get_logger("doorkeeper.cli.offline"))


def _policy(settings: Settings) -> Policy:
    return read_policy({entry.key: entry.value for entry in settings.entries})


def _changes_unasked(authorizer: Authorizer) -> bool:
    """Return whether an authorizer may write to the store without a command, as a plug-in may."""
    return type(authorizer) is not StandardAuthorizer and isinstance(authorizer, KeepsInStore)


async def _start(authorizer: GuardedAuthorizer, settings: Settings, log: StateLog) -> None:
    """Start the authorizer as the server does; its endpoints are configured, but not bound."""
    endpoints = [
        Endpoint(each.name, each.security_protocol, each.advertised_host or each.host, each.port)
        for each in settings.listeners
    ]
    # The authorizer waits for the ACLs, which the log loads.
    log.start()
    waits = start_authorizer(authorizer, settings, server_info(settings, log.cluster_id, endpoints))
    for wait in waits.values():
        try:
            await wait
        except Exception as error:
            raise refused_start(settings, error) from error

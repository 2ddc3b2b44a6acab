"""Changes of ACLs that complete when the brokers of all enforced clusters enforce them.

They are asynchronous in Kafka's contract of authorizers too (KIP-504).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.contract import AclCreateResult, AclDeleteResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.server.api.node import AuthorizerUpdates
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext
    from doorkeeper.server.state.log import StateLog
    from doorkeeper.server.state.outcome import Results


class Receipts(Protocol):
    """What the clusters have: the part of ``ClusterFleet`` that is used here."""

    async def wait_in_force(self, revision: int, changed: Sequence[AclBinding]) -> None: ...

    def pending(self, revision: int) -> list[str]: ...


class AcknowledgedByClusters:
    """The changes of an authorizer, which complete late."""

    def __init__(self, updates: AuthorizerUpdates, fleet: Receipts, log: StateLog) -> None:
        self._updates = updates
        self._fleet = fleet
        self._log = log

    async def create(
        self, context: AuthorizableRequestContext, bindings: Sequence[AclBinding], timeout_s: float
    ) -> Results:
        # One time-out for both parts: storing, and the answers of the brokers.
        ends_s = asyncio.get_running_loop().time() + timeout_s
        results = await self._updates.create(context, bindings, timeout_s)
        return await self._in_force(results, bindings, ends_s, AclCreateResult)

    async def delete(
        self,
        context: AuthorizableRequestContext,
        filters: Sequence[AclBindingFilter],
        timeout_s: float,
    ) -> Results:
        ends_s = asyncio.get_running_loop().time() + timeout_s
        results = await self._updates.delete(context, filters, timeout_s)
        deleted = [one.binding for each in results.values for one in each.bindings]
        return await self._in_force(results, deleted, ends_s, AclDeleteResult)

    async def _in_force(
        self,
        results: Results,
        changed: Sequence[AclBinding],
        ends_s: float,
        refused: Callable[[ApiError], Any],
    ) -> Results:
        """Wait for the clusters; then a success that is not in force is an error."""
        if all(each.error is not None for each in results.values):
            return results
        # This one or a later one, which contains the change too.
        revision = self._log.state.revision
        try:
            async with asyncio.timeout_at(ends_s):
                await self._fleet.wait_in_force(revision, changed)
        except TimeoutError:
            pending = "; ".join(self._fleet.pending(revision)) or "no broker was asked in time"
            error = ApiError(
                ErrorCode.REQUEST_TIMED_OUT,
                f"Stored as revision {revision}, but not in force everywhere: {pending}",
            )
            values = [refused(error) if each.error is None else each for each in results.values]
            return results._replace(values=values)
        return results

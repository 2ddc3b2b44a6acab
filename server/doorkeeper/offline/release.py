"""The release of Kafka whose rules a store's cluster follows: reading and changing it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acl.networks import network_of
from doorkeeper.kinds.change import Author, Origin
from doorkeeper.kinds.features import (
    LEVELS,
    has_networks,
    metadata_level,
    release_change,
    release_of,
)
from doorkeeper.offline.log import audit_log_output, offline_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.config.settings import Settings
    from doorkeeper.kinds.change import Change
    from doorkeeper.state.state import State

ORIGIN: Final = Origin(Author("Server:doorkeeper", "", "", "doorkeeper store release"))
"""The origin in the log of changes: no client asked."""


class ReleaseChange(NamedTuple):
    """The changes by another release.

    ``networks`` are the ACLs whose hosts are networks: they begin to match the addresses in them,
    or end to. ``unreadable`` have a slash and are no network: they match nothing in either release.
    """

    before: str
    after: str
    networks: tuple[AclBinding, ...]
    unreadable: tuple[AclBinding, ...]

    @property
    def begins(self) -> bool:
        """Say whether networks begin to match; they end to otherwise."""
        return has_networks(LEVELS[self.after])


def change_release(
    settings: Settings, release: str | None, confirm: Callable[[ReleaseChange], bool]
) -> ReleaseChange | None:
    """Make the cluster of a store follow another release, if ``confirm`` says so.

    Returns what was changed; None where the change was not confirmed. Without a release, and where
    the store follows it already, nothing is asked or changed.

    Raises:
        StorageError: there is no store, a server uses it, or it cannot be written.
        StartError: the audit log cannot be written.

    """
    with audit_log_output(settings):
        return asyncio.run(_change_release(settings, release, confirm))


async def _change_release(
    settings: Settings, release: str | None, confirm: Callable[[ReleaseChange], bool]
) -> ReleaseChange | None:
    async with offline_log(settings, make_store=False) as (log, audit_log):
        await log.start()
        state = log.state
        found = effect_of(state, release or release_of(state.features))
        if found.before == found.after:
            return found
        if not confirm(found):
            return None

        def plan(newest: State) -> Change:
            if metadata_level(newest.features) == LEVELS[found.after]:
                return {}
            return release_change(found.after)

        async with audit_log.recording():
            await log.submit(plan, ORIGIN)
        return found


def effect_of(state: State, release: str) -> ReleaseChange:
    """Return the changes by following a release; the ACLs are sorted."""
    before = release_of(state.features)
    bindings = [] if before == release else _with_slash(state.acls)
    networks = [each for each in bindings if network_of(each.entry.host) is not None]
    others = [each for each in bindings if network_of(each.entry.host) is None]
    return ReleaseChange(before, release, tuple(sorted(networks)), tuple(sorted(others)))


def _with_slash(acls: Snapshot) -> list[AclBinding]:
    return [
        binding
        for index in acls.types
        for _, _, group in index.patterns.patterns()
        for binding in group
        if "/" in binding.entry.host
    ]

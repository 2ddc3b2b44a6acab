"""The release of Kafka whose rules a store's cluster follows: reading and changing it.

The server is not started: it refuses a store of another release than its configuration names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from doorkeeper.acls.decision import Policy
from doorkeeper.acls.model import AclBinding, AclPermissionType
from doorkeeper.acls.necessity import without_effect
from doorkeeper.acls.networks import network_of
from doorkeeper.acls.snapshot import Snapshot
from doorkeeper.cli.offline.repository import policy_of
from doorkeeper.cli.offline.single_user import commit, open_log
from doorkeeper.server.app.config_changes import dynamic_values
from doorkeeper.server.config.loading import with_stored_values
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.schema.change import Author, Change, Origin
from doorkeeper.server.schema.features import (
    LEVELS,
    has_networks,
    metadata_level,
    release_change,
    release_of,
)
from doorkeeper.server.state.state import State

ORIGIN: Final = Origin(Author("Server:doorkeeper", "", "", "doorkeeper store release"))
"""The origin in the log of changes: no client asked."""


class ReleaseChange(NamedTuple):
    """The changes by another release.

    ``networks`` are the ACLs whose hosts are networks: they begin to match the addresses in them,
    or end to. Those of ``needless`` change no decision by it: other ACLs allow or deny the same, or
    a DENY overrides no ALLOW. ``unreadable`` have a slash and are no network: they match nothing in
    either release.
    """

    before: str
    after: str
    networks: tuple[AclBinding, ...]
    needless: frozenset[AclBinding]
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
    return asyncio.run(_change_release(settings, release, confirm))


async def _change_release(
    settings: Settings, release: str | None, confirm: Callable[[ReleaseChange], bool]
) -> ReleaseChange | None:
    async with open_log(settings) as assembly:
        await assembly.log.start()
        state = assembly.log.state
        stored, _ = with_stored_values(settings, dynamic_values(state.configs, settings.node_id))
        found = effect_of(state, release or release_of(state.features), policy_of(stored))
        if found.before == found.after:
            return found
        if not confirm(found):
            return None

        def plan(newest: State) -> tuple[Change, None]:
            is_same = metadata_level(newest.features) == LEVELS[found.after]
            return {} if is_same else release_change(found.after), None

        await commit(assembly, plan, ORIGIN)
        return found


def effect_of(state: State, release: str, policy: Policy) -> ReleaseChange:
    """Return the changes by following a release; the ACLs are sorted."""
    before = release_of(state.features)
    bindings = [] if before == release else sorted(_with_slash(state.acls))
    networks = tuple(each for each in bindings if network_of(each.entry.host) is not None)
    others = tuple(each for each in bindings if network_of(each.entry.host) is None)
    return ReleaseChange(before, release, networks, _needless(state, networks, policy), others)


def _needless(
    state: State, networks: Sequence[AclBinding], policy: Policy
) -> frozenset[AclBinding]:
    """Return the ACLs that change no decision when networks begin to match, or cease to.

    An ALLOW counts if no DENY overrides it, and no ALLOW that matches in both releases covers it. A
    DENY counts if it overrides such an ALLOW.
    """
    # That there is an ACL closes a resource in both releases: the default changes nothing.
    policy = Policy(super_users=policy.super_users)
    denying = [each for each in networks if each.entry.permission_type is AclPermissionType.DENY]
    allowing = [each for each in networks if each.entry.permission_type is AclPermissionType.ALLOW]
    # Without these all other ACLs match as texts, but their addresses may be in networks.
    others = state.acls.without(networks).with_network_matching(enabled=True)
    with_denying = others.with_added((state.acls.id_of(each) or "", each) for each in denying)
    found = [
        *without_effect(policy, others, denying),
        *without_effect(policy, with_denying, allowing),
    ]
    return frozenset(each.binding for each in found)


def _with_slash(acls: Snapshot) -> list[AclBinding]:
    return [
        binding
        for index in acls.types
        for _, _, group in index.patterns.patterns()
        for binding in group
        if "/" in binding.entry.host
    ]

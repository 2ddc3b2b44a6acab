"""The ACLs and the policy of a server's store, read without changing anything.

ACLs of the standard authorizer are read from the database, also while the server runs. Another
authorizer is started and queried, which needs exclusive use of the store.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acl.model import ANY_BINDING
from doorkeeper.app.config_changes import dynamic_values
from doorkeeper.app.errors import StartError
from doorkeeper.app.stores import opened_store
from doorkeeper.authorizer.keys import read_policy
from doorkeeper.authorizer.loading import KEY, authorizer_class
from doorkeeper.authorizer.standard import StandardAuthorizer
from doorkeeper.config.loading import with_kept
from doorkeeper.config.plug_ins import UnusableClass
from doorkeeper.kinds.declared import ACL, CONFIG
from doorkeeper.offline.acls import run_offline
from doorkeeper.state.store import StorageError
from doorkeeper.storage.files import DATABASE_NAME
from doorkeeper.storage.reading import StoredAcls as ReadAcls
from doorkeeper.storage.reading import read_acls

if TYPE_CHECKING:
    from doorkeeper.acl.decision import Policy
    from doorkeeper.acl.model import AclBinding
    from doorkeeper.config.settings import Settings
    from doorkeeper.offline.acls import OfflineAcls


class StoredAcls(NamedTuple):
    """The bindings, sorted, and the policy beside them.

    ``decides`` names a configured authorizer that is not the standard one: its decisions may follow
    other rules.
    """

    bindings: list[AclBinding]
    policy: Policy
    decides: str | None = None


def stored_acls(settings: Settings) -> StoredAcls:
    """Read the ACLs of the configured store. For a thread without a running event loop.

    Raises:
        StartError: there is no store, or no authorizer, or a plug-in cannot be queried.
        AuthorizerFault: a plug-in fails.

    """
    name = settings.authorizer_class_name
    try:
        found = authorizer_class(name)
    except UnusableClass as error:
        raise StartError(str(error)) from error
    if found is None:
        raise StartError(f"there are no ACLs: {KEY} names no authorizer")
    try:
        if found is not StandardAuthorizer:
            return StoredAcls(_asked(settings), policy_of(settings), name)
        read = _read(settings)
    except StorageError as error:
        raise StartError(str(error)) from error
    settings, _ = with_kept(settings, dynamic_values(read.configs, settings.node_id))
    return StoredAcls(sorted(each.binding for each in read.bindings), policy_of(settings))


def _read(settings: Settings) -> ReadAcls:
    if settings.store is None:
        return read_acls(settings.data_dir / DATABASE_NAME)
    return asyncio.run(_read_shared(settings))


async def _read_shared(settings: Settings) -> ReadAcls:
    store = await opened_store(settings)
    try:
        return ReadAcls(list(store.rows(ACL)), list(store.rows(CONFIG)))
    finally:
        await store.aclose()


def policy_of(settings: Settings) -> Policy:
    """Return the policy: super users, and the default without ACLs.

    Raises:
        StartError: a super user has no colon.

    """
    try:
        return read_policy({entry.key: entry.value for entry in settings.entries})
    except ValueError as error:
        raise StartError(str(error)) from error


def _asked(settings: Settings) -> list[AclBinding]:
    found: list[AclBinding] = []

    async def work(acls: OfflineAcls) -> None:
        found.extend(acls.find([ANY_BINDING]))

    run_offline(settings, work)
    return found

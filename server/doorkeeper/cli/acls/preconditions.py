"""Preconditions of changes: nothing that a plan depends on has changed since a revision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from doorkeeper.cli.repositories.errors import RepositoryError
from doorkeeper.cli.stores import open_history
from doorkeeper.server.state.history.undoing import changes_since
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import Plan
    from doorkeeper.cli.acls.addresses import Location
    from doorkeeper.cli.acls.plans import Precondition
    from doorkeeper.cli.repositories.sessions import ClusterSession


def precondition_of(
    location: Location, revision: int, selects: Callable[[AclBinding], bool] | None
) -> Precondition:
    """Return a check that fails where ACLs have changed behind a revision of the location's store.

    The session refuses later changes of others too, up to each change of its own.
    The changes that count are those of ACLs that ``selects`` selects; None: of the patterns in the
    plan.

    Raises:
        click.UsageError: the location has no history.

    """
    if not location.address.is_store:
        raise click.UsageError(
            f"--if-revision needs a store, whose history has the changes; found {location.address}."
            " No request of the Kafka protocol carries a revision: name the shared store, or the"
            " embedded one while its server is stopped"
        )

    async def check(plan: Plan, session: ClusterSession | None) -> None:
        patterns = {each.pattern for each in (*plan.added, *plan.removed)}
        concerns = selects or (lambda binding: binding.pattern in patterns)
        try:
            async with open_history(location.address, location.overrides) as store:
                newest = (await store.position()).revision
                found = await changes_since(store, revision, concerns)
        except StorageError as error:
            raise RepositoryError(str(error)) from error
        if found:
            numbers = ", ".join(str(each.revision) for each in found[:10])
            more = f" and {len(found) - 10} more" if len(found) > 10 else ""
            raise RepositoryError(
                f"nothing was changed: since revision {revision}, other changes concern the plan:"
                f" {numbers}{more} (doorkeeper history show REVISION)"
            )
        if session is not None:
            # Later ones are seen by the session, which was opened before the history was read.
            session.refuse_after(newest, concerns)

    return check

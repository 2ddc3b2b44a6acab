"""The coroutine that changes SCRAM credentials."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.base.errors import ApiError
from doorkeeper.server.resources.users import judge, row_of, users_in
from doorkeeper.server.schema.change import edit
from doorkeeper.server.schema.declared import CREDENTIAL
from doorkeeper.server.state.log import origin_of
from doorkeeper.server.state.outcome import Results, commit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.base.slices import Slices
    from doorkeeper.server.api.node import Services
    from doorkeeper.server.resources.users import CredentialDeletion, CredentialUpsertion
    from doorkeeper.server.runtime.request_context import RequestContext
    from doorkeeper.server.schema.change import Change
    from doorkeeper.server.state.state import State


async def alter_credentials(
    services: Services,
    context: RequestContext,
    deletions: Sequence[CredentialDeletion],
    upsertions: Sequence[CredentialUpsertion],
) -> Results:
    """Apply the valid alterations in one revision.

    The values are an error or None for each user, in the order of their first occurrence.
    """
    errors: dict[str, ApiError] = {}

    def plan(state: State) -> Slices[Change]:
        nonlocal errors
        deleted, upserted, errors = judge(state.credentials, deletions, upsertions)
        set_ = []
        for upsertion in upserted:
            set_.append(row_of(upsertion))
            yield
        return edit(CREDENTIAL, set=set_, deleted=deleted)

    not_stored = None
    try:
        await commit(services.log, plan, origin_of(context.authorizable))
    except ApiError as error:
        not_stored = error
    return Results([errors.get(user) or not_stored for user in users_in(deletions, upsertions)])

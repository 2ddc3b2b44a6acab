"""SCRAM users of a live cluster, or of a server in single-user mode, through Kafka's APIs."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from doorkeeper.base.errors import ErrorCode
from doorkeeper.cli.repositories.sessions import answers_of_few
from doorkeeper.cli.stores import settings_at
from doorkeeper.cli.terminal import retry_reporter, say
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.errors import ClientError
from doorkeeper.client.identity import identity_of
from doorkeeper.client.properties import client_config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from doorkeeper.cli.acls.addresses import Location
    from doorkeeper.client.identity import ScramLogin
    from doorkeeper.client.scram import ScramDeletion, ScramPassword

_GONE: Final = ErrorCode.RESOURCE_NOT_FOUND
"""Of a deletion: a broker that lags may list what is deleted."""


@asynccontextmanager
async def open_client(
    location: Location, *, changes: bool = True, make_store: bool = False
) -> AsyncIterator[tuple[AdminClient, ScramLogin | None]]:
    """Give a client, and the credential that it logs in with; None for another login.

    Retries are reported on stderr, each reason once.

    Raises:
        StoreInUse: a server has the store.
        ValueError: the address or the properties are wrong.
    """
    async with AsyncExitStack() as opened:
        if location.address.is_live:
            config = client_config(location.address.target, location.command_config)
        else:
            from doorkeeper.cli import single_user

            settings = settings_at(location.address, location.overrides)
            # Without the authorizer, which may be what keeps the server from starting.
            server = await opened.enter_async_context(
                single_user.start(
                    settings, changes=changes, authorizer=False, make_store=make_store
                )
            )
            config = single_user.client_config(server, "doorkeeper users")
        client = await opened.enter_async_context(AdminClient(config, on_retry=retry_reporter()))
        yield client, (await identity_of(config)).scram


async def iterations_by_user(client: AdminClient) -> dict[str, dict[str, int]]:
    """Return the iterations of each user by mechanism, as any broker of a few lists them.

    Raises:
        ClientError: the server refuses, or there is no answer.
    """
    users: dict[str, dict[str, int]] = {}
    listings = await answers_of_few(
        client, lambda node_id: client.scram_credentials(node_id=node_id)
    )
    if any(listed != listings[0] for listed in listings):
        say("note: brokers do not list the same users; a broker may lag")
    for listed in listings:
        for user, iterations in listed.items():
            users[user] = iterations | users.get(user, {})
    return dict(sorted(users.items()))


async def alter(client: AdminClient, changes: Sequence[ScramPassword | ScramDeletion]) -> None:
    """Change credentials; one to delete that is gone is deleted.

    Raises:
        ClientError: the server refuses; the text lists the mechanisms that were changed before.
    """
    done: list[str] = []
    # One request for each mechanism: a result names the user, not the mechanism.
    for change in changes:
        (result,) = await client.alter_scram_credentials([change])
        error = result.error
        if error is not None and error.code is not _GONE:
            before = f"; changed before: {', '.join(done)}" if done else ""
            raise ClientError(f"{change.mechanism}: {error.code.name}: {error}{before}")
        done.append(change.mechanism)

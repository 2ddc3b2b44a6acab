"""The services of a node that change something for connections."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.settings.operations import AlteredResource
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.state.log import StateLog
from doorkeeper.server.state.outcome import not_stored
from doorkeeper.server.state.store import StorageError

if TYPE_CHECKING:
    from doorkeeper.server.api.node import AuthorizerUpdates
    from doorkeeper.server.app.config_changes import ConfigChanges
    from doorkeeper.server.app.delegation_tokens import DelegationTokens
    from doorkeeper.server.state.postgres.membership import Membership


class NodeServices:
    """The node's state log, tokens and authorizer; ``configs`` is set when the edge exists."""

    configs: ConfigChanges

    def __init__(
        self,
        log: StateLog,
        tokens: DelegationTokens,
        authorizer: AuthorizerUpdates | None,
        update_timeout_s: float,
    ) -> None:
        self.log = log
        self.tokens = tokens
        self.authorizer = authorizer
        self.update_timeout_s = update_timeout_s
        self.membership: Membership | None = None
        """None with an embedded store."""

    async def resolvable(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if await _resolves(name)]

    async def unregister_broker(self, node_id: int) -> None:
        try:
            is_registered = self.membership is not None and await self.membership.unregister(
                node_id
            )
        except StorageError as error:
            raise not_stored(error) from error
        if not is_registered:
            text = f"Broker ID {node_id} is not currently registered"
            raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, text)

    async def alter_configs(
        self, resources: Sequence[AlteredResource], context: RequestContext, *, validate_only: bool
    ) -> list[ApiError | None]:
        return await self.configs.alter_configs(resources, context, validate_only=validate_only)


async def _resolves(name: str) -> bool:
    try:
        await asyncio.get_running_loop().getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True

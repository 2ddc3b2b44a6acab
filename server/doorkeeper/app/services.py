"""The services of a node that change something for connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.app.config_changes import ConfigChanges
    from doorkeeper.authorizer.guard import GuardedAuthorizer
    from doorkeeper.configs.operations import AlteredResource
    from doorkeeper.request_context import RequestContext
    from doorkeeper.state.log import StateLog
    from doorkeeper.state.outcome import Results
    from doorkeeper.updates.tokens import DelegationTokens


class NodeServices:
    """The node's state log, tokens and authorizer; ``configs`` is set when the edge exists."""

    configs: ConfigChanges

    def __init__(
        self,
        log: StateLog,
        tokens: DelegationTokens,
        authorizer: GuardedAuthorizer | None,
        update_timeout_s: float,
    ) -> None:
        self.log = log
        self.tokens = tokens
        self.authorizer = authorizer
        self.update_timeout_s = update_timeout_s

    async def alter_configs(
        self, resources: Sequence[AlteredResource], context: RequestContext, *, validate_only: bool
    ) -> Results:
        return await self.configs.alter_configs(resources, context, validate_only=validate_only)

"""What the node does for connections besides authorizing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from doorkeeper.app.config_changes import ConfigChanges
    from doorkeeper.app.credential_changes import CredentialChanges
    from doorkeeper.app.token_changes import TokenChanges
    from doorkeeper.app.topic_changes import TopicChanges
    from doorkeeper.delegation_tokens import SignedToken
    from doorkeeper.errors import ApiError
    from doorkeeper.node import (
        AlterConfigs,
        AlterCredentials,
        ChangeToken,
        ChangeTopics,
        RequestContext,
    )


class NodeServices:
    """The changes that a node makes; the edge is made before those of keys, which change it."""

    def __init__(
        self,
        topic_changes: TopicChanges,
        credential_changes: CredentialChanges,
        token_changes: TokenChanges,
    ) -> None:
        """Begin without changes of keys."""
        self._topic_changes = topic_changes
        self._credential_changes = credential_changes
        self._token_changes = token_changes
        self.config_changes: ConfigChanges | None = None

    def change_topics(
        self, change: ChangeTopics, context: RequestContext
    ) -> Awaitable[Sequence[ApiError | None]]:
        """Make and delete topics."""
        return self._topic_changes.change_topics(change, context)

    def alter_configs(
        self, change: AlterConfigs, context: RequestContext
    ) -> Awaitable[Sequence[ApiError | None]]:
        """Change the keys of topics and brokers."""
        assert self.config_changes is not None, "given before a listener opens"
        return self.config_changes.alter_configs(change, context)

    def alter_credentials(
        self, change: AlterCredentials, context: RequestContext
    ) -> Awaitable[Sequence[ApiError | None]]:
        """Change SCRAM credentials."""
        return self._credential_changes.alter_credentials(change, context)

    def change_token(
        self, change: ChangeToken, context: RequestContext
    ) -> Awaitable[Sequence[ApiError | SignedToken]]:
        """Make, renew or end a delegation token."""
        return self._token_changes.change_token(change, context)

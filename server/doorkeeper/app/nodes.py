"""The other nodes that share this node's store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorkeeper.app.live_node import LiveNode
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.pipeline import Logger
    from doorkeeper.storage.postgres.membership import Membership
    from doorkeeper.tokens import Tokens


def membership_of(
    settings: Settings, node: LiveNode, tokens: Tokens, log: Logger
) -> Membership | None:
    """Return the node's place among those of its shared store; None where the store is its own.

    Raises:
        StorageError: the store cannot be connected to in the way that is configured.

    """
    if settings.store is None:
        return None
    # Who has no shared store need not have its driver.
    from doorkeeper.storage.postgres.connecting import connector  # noqa: PLC0415
    from doorkeeper.storage.postgres.membership import Membership  # noqa: PLC0415

    # A node must have found the host that lives before its own time is up.
    most_ms = max(1, settings.broker_session_timeout_ms // 3)
    store = settings.store.replace(
        connect_timeout_ms=min(settings.store.connect_timeout_ms, most_ms)
    )
    return Membership(
        connector(store),
        lambda: node.as_member(tokens.fingerprint),
        node.use_others,
        interval_s=settings.broker_heartbeat_interval_ms / 1000,
        timeout_s=settings.broker_session_timeout_ms / 1000,
        log=log,
    )

"""Decisions and logins with their counts and times."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doorkeeper.acl.decision import Policy
    from doorkeeper.acl.snapshot import Snapshot
    from doorkeeper.authorizer.contract import Action
    from doorkeeper.connection.exchange import Login
    from doorkeeper.request_context import AuthorizableRequestContext


class Seen:
    """A decision and its count."""

    __slots__ = (
        "action",
        "allowed",
        "context",
        "count",
        "first_ns",
        "key",
        "last_correlation_id",
        "last_ns",
        "policy",
        "snapshot",
    )

    def __init__(
        self,
        key: object,
        context: AuthorizableRequestContext,
        action: Action,
        policy: Policy | None,
        snapshot: Snapshot | None,
        now_ns: int,
        *,
        allowed: bool,
    ) -> None:
        """``key`` identifies equal decisions."""
        self.key = key
        self.context = context
        self.action = action
        self.allowed = allowed
        self.policy = policy
        self.snapshot = snapshot
        self.count = 1
        self.first_ns = self.last_ns = now_ns
        self.last_correlation_id: int | bytes = context.correlation_id
        """The number, or its four bytes."""


class SeenLogin:
    """A login and its count."""

    __slots__ = ("count", "first_ns", "last_correlation_id", "last_ns", "login")

    def __init__(self, login: Login, now_ns: int) -> None:
        self.login = login
        self.count = 1
        self.first_ns = self.last_ns = now_ns
        self.last_correlation_id = None if login.header is None else login.header.correlation_id

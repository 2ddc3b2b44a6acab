"""What the server's edge is told, and what it asks of others."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from doorkeeper.authn.principals import DefaultPrincipalBuilder
from doorkeeper.limits import UNLIMITED
from doorkeeper.value import Value, hidden

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from ssl import SSLContext

    from doorkeeper.authn.contract import OfferedMechanism, PrincipalBuilder
    from doorkeeper.delegation_tokens import SignedToken
    from doorkeeper.errors import ApiError
    from doorkeeper.exchange import Login
    from doorkeeper.node import (
        AlterConfigs,
        AlterCredentials,
        ChangeToken,
        ChangeTopics,
        CreateAcls,
        DeleteAcls,
        RequestContext,
    )


class Offers(NamedTuple):
    """How the next connections of a listener prove who they are.

    ``mechanisms`` are by name, in the order in which clients are told; None without SASL.
    ``tls`` is None where connections are in clear.
    """

    mechanisms: Mapping[str, OfferedMechanism] | None
    builder: PrincipalBuilder
    tls: SSLContext | None = None


ENCRYPTED: Final = frozenset({"SSL", "SASL_SSL"})
"""The protocols that begin with a TLS handshake."""

IN_CLEAR = Offers(None, DefaultPrincipalBuilder())
"""Nobody proves anything: everybody is ANONYMOUS."""


class ListenerSpec(Value):
    """One listener, as the configuration describes it.

    ``host`` may be empty: every address of the machine. Port 0 takes a free one. ``controller``
    says that the listener is named in ``controller.listener.names``. ``offers`` are what it begins
    with.
    """

    name: str
    security_protocol: str
    host: str
    port: int
    controller: bool = False
    offers: Offers = hidden(default=IN_CLEAR)
    max_connections: int = UNLIMITED


class Accepted(asyncio.Protocol, ABC):
    """What a listener makes of a connection that it lets in."""

    __slots__ = ()

    @property
    @abstractmethod
    def peer_id(self) -> str:
        """Return the connection as the log names it."""

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Say whether there is a transport: with TLS, whether the handshake is over."""

    @abstractmethod
    def abort(self, reason: str) -> None:
        """Close now, whatever is under way."""


class Services(Protocol):
    """What the node does for connections besides authorizing."""

    def change_topics(
        self, change: ChangeTopics, context: RequestContext
    ) -> Awaitable[Sequence[ApiError | None]]:
        """Make and delete topics; the results are those of ``created``, then of ``deleted``."""
        ...

    def alter_configs(
        self, change: AlterConfigs, context: RequestContext
    ) -> Awaitable[Sequence[ApiError | None]]:
        """Change the keys of topics and brokers; one result for each resource."""
        ...

    def alter_credentials(
        self, change: AlterCredentials, context: RequestContext
    ) -> Awaitable[Sequence[ApiError | None]]:
        """Change SCRAM credentials; one result for each user."""
        ...

    def change_token(
        self, change: ChangeToken, context: RequestContext
    ) -> Awaitable[Sequence[ApiError | SignedToken]]:
        """Make, renew or end a delegation token; there is one result."""
        ...


class Trail(Protocol):
    """The record of what was decided and changed. Nothing here blocks."""

    @property
    def is_recorded(self) -> bool:
        """Say whether every change so far is recorded as it is promised."""
        ...

    def when_recorded(self, on_recorded: Callable[[ApiError | None], None]) -> None:
        """Have a call when it is, with an error where it cannot be."""
        ...

    def refusal(self) -> ApiError | None:
        """Return why nothing may be changed now, None where it may."""
        ...

    def updated(
        self, outcome: CreateAcls | DeleteAcls, results: Sequence[Any], asked: RequestContext
    ) -> None:
        """Take what became of ACLs, which an authorizer may keep elsewhere than in the store."""
        ...

    def logged_in(self, login: Login) -> None:
        """Take a login, or its failure."""
        ...


class Logger(Protocol):
    """A structured log: an event in plain words, and its fields."""

    def debug(self, event: str, **fields: object) -> object:
        """Tell developers."""
        ...

    def info(self, event: str, **fields: object) -> object:
        """Tell operators."""
        ...

    def warning(self, event: str, **fields: object) -> object:
        """Tell operators that something is wrong outside."""
        ...

    def error(self, event: str, **fields: object) -> object:
        """Tell operators that something is wrong here; ``exc_info`` may carry the exception."""
        ...

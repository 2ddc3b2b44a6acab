"""The contract between the server and authorizers: KIP-504 in Python.

The server calls, in this order: ``configure`` once, ``start`` once, then the other methods any
number of times, then ``close`` once. All calls of a plug-in come from the event loop's thread, but
for updates where ``doorkeeper.authorizer.updates.thread`` is set. Reads
(``authorize``, ``acls``, ``acl_count``, ``authorize_by_resource_type``, ``authorized_operations``)
answer at once and from local memory, or raise ``DecisionPending``. Updates complete later: by one
awaitable per item, or as coroutines that return all results; the refusal of an item is a value
inside its result, never an exception.

Plug-ins import from ``doorkeeper.plugins``; ``docs/reference/authorizer-contract.md`` states the
compatibility guarantee.

Source: ``org.apache.kafka.server.authorizer`` (4.3.1).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Coroutine, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from doorkeeper.acls.model import (
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS

if TYPE_CHECKING:
    from doorkeeper.base.errors import ApiError
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

AUTHORIZER_CONTRACT_VERSION = (2, 0)
"""The version of the contract: (incompatible changes, compatible additions)."""

T = TypeVar("T")

Eventually = Awaitable[T] | concurrent.futures.Future[T]
"""A coroutine, a future of the loop, or a future that any thread completes."""

Changes = Sequence[Eventually[T]] | Coroutine[Any, Any, Sequence[T]]
"""What an update returns: one awaitable for each item, or a coroutine that returns all results."""


def completed(result: T) -> asyncio.Future[T]:
    """Return a completed future, for an item whose result is known at once.

    On another thread than the event loop's it is a ``concurrent.futures.Future``, with the same
    methods for a result.
    """
    future: asyncio.Future[T]
    try:
        future = asyncio.get_running_loop().create_future()
    except RuntimeError:
        future = concurrent.futures.Future()  # type: ignore[assignment]
    future.set_result(result)
    return future


class AuthorizationResult(Enum):
    """The two results for an action."""

    ALLOWED = "ALLOWED"
    DENIED = "DENIED"


class DecisionPending(Exception):
    """Raised by ``authorize`` and other reads whose answer must come from elsewhere first.

    The request waits for ``known``, without holding up other clients, and is then handled again:
    all of its questions are asked again, and answered from memory. ``known`` may be shared by many
    requests; its result is not used. If it fails, or the request has waited for five seconds, the
    request is answered with an error that clients retry; an ``ApiError`` is answered as it is.
    """

    def __init__(self, known: Eventually[Any]) -> None:
        super().__init__("the decision is not known yet")
        self.known = known


class Endpoint(NamedTuple):
    """One listener: the host it advertises and the port it is bound to."""

    listener_name: str
    security_protocol: str
    host: str
    port: int


class AuthorizerServerInfo(NamedTuple):
    """Data about the server for an authorizer's start."""

    cluster_id: str
    node_id: int
    endpoints: tuple[Endpoint, ...]
    inter_broker_endpoint: Endpoint
    early_start_listeners: frozenset[str]


class Action(NamedTuple):
    """One access that a request needs. ``resource`` is LITERAL.

    ``resource_reference_count`` says how often the request names the resource. ``log_if_allowed``
    and ``log_if_denied`` are false if the result alone is no access, as with a probe.
    """

    operation: AclOperation
    resource: ResourcePattern
    resource_reference_count: int = 1
    log_if_allowed: bool = True
    log_if_denied: bool = True


class AclCreateResult(NamedTuple):
    """The result for one binding; ``error`` is None on success."""

    error: ApiError | None = None


class AclBindingDeleteResult(NamedTuple):
    """One binding that a filter matched; ``error`` is None if it was deleted."""

    binding: AclBinding
    error: ApiError | None = None


class AclDeleteResult(NamedTuple):
    """The result for one filter: an error of the filter itself, or the bindings it matched."""

    error: ApiError | None = None
    bindings: tuple[AclBindingDeleteResult, ...] = ()


class Authorizer(ABC):
    """Decides on the actions of clients, and keeps the ACLs."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Read the server's configuration: all keys, known and unknown ones.

        Raises:
            ValueError: a value is wrong; the text names the key. The server does not start.
        """

    @abstractmethod
    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Eventually[None]]:
        """Begin loading; return one awaitable for each endpoint.

        A listener opens when its awaitable completes; one without opens at once. A failure stops
        the start of the server.
        """

    @abstractmethod
    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Decide on each action, in order, from local memory.

        Raises:
            DecisionPending: the answer must come from elsewhere first.
        """

    @abstractmethod
    def create_acls(
        self, context: AuthorizableRequestContext | None, bindings: Sequence[AclBinding]
    ) -> Changes[AclCreateResult]:
        """Create the bindings; return one awaitable for each, in order.

        It may be ``async def`` and return all results, in order; it is cancelled when the time-out
        of updates is over. ``context`` is None without a client: ``doorkeeper acls`` on a stopped
        server.
        """

    @abstractmethod
    def delete_acls(
        self, context: AuthorizableRequestContext | None, filters: Sequence[AclBindingFilter]
    ) -> Changes[AclDeleteResult]:
        """Delete the matching bindings; return one awaitable for each filter, in order.

        It may be ``async def``, and ``context`` may be None, as for ``create_acls``.
        """

    @abstractmethod
    def acls(self, wanted: AclBindingFilter) -> Iterable[AclBinding]:
        """Return the bindings that the filter matches, from local memory.

        It may be a generator, which is exhausted at once.
        """

    def acl_count(self) -> int:
        """Return the number of ACLs; -1 if it is unknown."""
        return -1

    def authorize_by_resource_type(
        self,
        context: AuthorizableRequestContext,
        operation: AclOperation,
        resource_type: ResourceType,
    ) -> AuthorizationResult:
        """Return whether the operation is allowed on at least one resource of the type (KIP-679).

        Raises:
            ValueError: the operation or the type is ANY or UNKNOWN.
        """
        return by_resource_type(self, context, operation, resource_type)

    def authorized_operations(
        self, context: AuthorizableRequestContext, resources: Sequence[ResourcePattern]
    ) -> list[int]:
        """Return a mask for each resource: bit ``1 << operation`` for each allowed operation.

        Only operations that the resource's type supports count. Implied operations count: an ALLOW
        of DELETE sets DESCRIBE too. The probes are no accesses: they are logged at TRACE only.
        Override it if masks can be computed in one pass (KIP-430).
        """
        return masks_by_authorize(self, context, resources)

    def close(self) -> None:
        """Release all resources, threads too; fail the pending awaitables of ``start``.

        Called exactly once: after the last decision, or when the start has failed.
        """


class AuthorizerLog(Protocol):
    """Receives lines of the authorizer log. ``write`` must not block."""

    @property
    def threshold(self) -> Threshold:
        """Return the minimum level: always the same object, whose ``level`` may change."""

    def write(self, level: int, text: str, /) -> None:
        """Write one line, given without line end."""


class Threshold(Protocol):
    """The minimum level of written lines. Read for each decision, before a line is rendered."""

    @property
    def level(self) -> int: ...


def masks_by_authorize(
    authorizer: Authorizer,
    context: AuthorizableRequestContext,
    resources: Sequence[ResourcePattern],
) -> list[int]:
    """Compute masks in the default way: ``authorize`` for every supported operation.

    Raises:
        ValueError: the number of results is not that of the actions.
        TypeError: a result is not an AuthorizationResult.
    """
    probes = [
        Action(operation, resource, log_if_allowed=False, log_if_denied=False)
        for resource in resources
        for operation in SUPPORTED_OPERATIONS.get(resource.resource_type, ())
    ]
    # By resource: a request may name one twice, and both get the same mask.
    masks = dict.fromkeys(resources, 0)
    if probes:
        answers = authorizer.authorize(context, probes)
        for probe, answer in zip(probes, answers, strict=True):
            if _allows(answer):
                masks[probe.resource] |= 1 << probe.operation
    return [masks[resource] for resource in resources]


def _allows(answer: object) -> bool:
    if not isinstance(answer, AuthorizationResult):
        raise TypeError(f"authorize returned {answer!r:.80}; expected: an AuthorizationResult")
    return answer is AuthorizationResult.ALLOWED


PROBE_NAME = "hardcode"
"""The resource name that the broker's default algorithm uses, and logs, in its first step."""


def by_resource_type(
    authorizer: Authorizer,
    context: AuthorizableRequestContext,
    operation: AclOperation,
    resource_type: ResourceType,
) -> AuthorizationResult:
    """Run the contract's default algorithm over ``acls``: O(number of ACLs).

    A LITERAL deny never dominates a PREFIXED allow, and implied operations do not count after the
    first step: both as in the broker.

    Raises:
        ValueError: the operation or the type is ANY or UNKNOWN, or there is not one result.
        TypeError: the result is not an AuthorizationResult.

    Source: the default method ``Authorizer.authorizeByResourceType``.
    """
    check_not_filter(operation, resource_type)
    probe = Action(
        operation,
        ResourcePattern(resource_type, PROBE_NAME, PatternType.LITERAL),
        resource_reference_count=0,
        log_if_denied=False,
    )
    # An ALLOW on "*" or on the empty prefix covers the probe, whatever its name.
    (answer,) = authorizer.authorize(context, [probe])
    if _allows(answer):
        return AuthorizationResult.ALLOWED
    filter = AclBindingFilter(
        ResourcePatternFilter(resource_type, None, PatternType.ANY),
        AccessControlEntryFilter(None, None, AclOperation.ANY, AclPermissionType.ANY),
    )
    covered = [
        binding
        for binding in authorizer.acls(filter)
        if binding.entry.host in ("*", context.client_address)
        and binding.entry.principal in ("User:*", str(context.principal))
        and binding.entry.operation in (operation, AclOperation.ALL)
    ]
    return AuthorizationResult.ALLOWED if any_undominated(covered) else AuthorizationResult.DENIED


def any_undominated(bindings: Sequence[AclBinding]) -> bool:
    """Return whether some ALLOW among the bindings is not dominated by a DENY among them."""
    denied = {b.pattern for b in bindings if b.entry.permission_type is AclPermissionType.DENY}
    allowed = {b.pattern for b in bindings if b.entry.permission_type is AclPermissionType.ALLOW}
    literal_denies = {p.name for p in denied if p.pattern_type is PatternType.LITERAL}
    prefix_denies = {p.name for p in denied if p.pattern_type is PatternType.PREFIXED}
    # A DENY on all resources dominates every ALLOW.
    if "*" in literal_denies:
        return False
    if any(p.pattern_type is PatternType.LITERAL and p.name == "*" for p in allowed):
        return True
    return any(
        not (p.pattern_type is PatternType.LITERAL and p.name in literal_denies)
        and not any(p.name.startswith(prefix) for prefix in prefix_denies)
        for p in allowed
    )


def check_not_filter(operation: AclOperation, resource_type: ResourceType) -> None:
    """Reject filter values, which ``authorize_by_resource_type`` does not accept.

    Raises:
        ValueError: with the broker's texts.
    """
    if resource_type is ResourceType.ANY:
        raise ValueError("Must specify a non-filter resource type for authorizeByResourceType")
    if resource_type is ResourceType.UNKNOWN:
        raise ValueError("Unknown resource type")
    if operation is AclOperation.ANY:
        raise ValueError("Must specify a non-filter operation type for authorizeByResourceType")
    if operation is AclOperation.UNKNOWN:
        raise ValueError("Unknown operation type")


class Reconfigurable(ABC):
    """An authorizer that accepts new values of some keys without a restart.

    It is notified of every change of the keys it names, by SIGHUP after an edit of the file, or by
    IncrementalAlterConfigs:

        validate_reconfiguration(configs)   all keys with their new values; ValueError rejects
        reconfigure(configs)                the same keys, once they are stored: apply them

    Both get every key of the server, like ``configure``. They are called from the loop's thread,
    and only if a key of ``reconfigurable_configs`` has changed. No other change of the keys comes
    between the two; a rejected change has no effect.

    Source: ``org.apache.kafka.common.Reconfigurable``, ``DynamicBrokerConfig`` (4.3.1).
    """

    @abstractmethod
    def reconfigurable_configs(self) -> set[str]:
        """Return the names of the keys; they may include keys unknown to the server."""

    @abstractmethod
    def validate_reconfiguration(self, configs: Mapping[str, str]) -> None:
        """Check the values without applying them.

        Raises:
            ValueError: a value is wrong. The client sees the text: it names the key, what
                was found and what is allowed, and contains no secret.
        """

    @abstractmethod
    def reconfigure(self, configs: Mapping[str, str]) -> None:
        """Apply the values, which ``validate_reconfiguration`` has accepted."""

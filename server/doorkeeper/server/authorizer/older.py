"""The authorizer interface before KIP-504, and an adapter to the present contract.

KIP-11 in Python, with the values of the contract:

    initialize(configs)                       once; optional
    authorize(session, operation, resource)   True or False
    add_acls(acls, resource)                  existing ACLs stay
    remove_acls(acls, resource)               True if any was removed; acls of None: all of them
    get_acls(resource=...)                    a set of entries
    get_acls(principal=...), get_acls()       a mapping: resource pattern -> set of entries
    close()                                   once; optional

``acls`` is a frozen set of ``AccessControlEntry``, ``resource`` a ``ResourcePattern``. All methods
run on the event loop and are complete when they return.

Source: KIP-11; ``kafka.security.auth.Authorizer`` (2.3).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard

from doorkeeper.acls.filters import entry_matches, matches
from doorkeeper.acls.model import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    PatternType,
    Principal,
    ResourcePattern,
    ResourceType,
)
from doorkeeper.acls.validation import check_binding, check_filter
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.contract import (
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
    Action,
    AuthorizationResult,
    Authorizer,
    AuthorizerServerInfo,
    Endpoint,
    Eventually,
    completed,
)
from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

_LOG = logging.getLogger("doorkeeper.authorizer")

METHODS = ("authorize", "add_acls", "remove_acls", "get_acls")
"""The methods that identify an authorizer of the older kind."""


class Session(NamedTuple):
    """The principal and host of a request: all that the older interface passes."""

    principal: Principal
    client_address: str


def has_older_interface(candidate: object) -> TypeGuard[type[Any]]:
    return (
        isinstance(candidate, type)
        and not issubclass(candidate, Authorizer)
        and all(callable(getattr(candidate, name, None)) for name in METHODS)
    )


def wrap(older: type[Any]) -> type[Authorizer]:
    """Return a subclass of ``Authorizer`` that creates and adapts the older class.

    It has the older class's name, which logs show.
    """

    class Wrapped(OlderAuthorizer):
        def __init__(self) -> None:
            super().__init__(older())

    Wrapped.__module__ = older.__module__
    Wrapped.__name__ = older.__name__
    Wrapped.__qualname__ = older.__qualname__
    return Wrapped


class OlderAuthorizer(Authorizer):
    """Adapts an object with the older interface to the contract."""

    def __init__(self, older: object) -> None:
        self.older: Any = older  # known by its methods

    def configure(self, configs: Mapping[str, str]) -> None:
        # Optional here: in Kafka it belongs to the Configurable interface.
        initialize = getattr(self.older, "initialize", None)
        if initialize is not None:
            initialize(configs)

    def start(self, server_info: AuthorizerServerInfo) -> Mapping[Endpoint, Eventually[None]]:
        """Return no awaitables: the older interface is ready after ``initialize``."""
        return {}

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        """Decide on each action by itself.

        Raises:
            TypeError: a result is neither True nor False.
        """
        session = Session(context.principal, context.client_address)
        return [
            _result(self.older.authorize(session, action.operation, action.resource))
            for action in actions
        ]

    def create_acls(
        self,
        context: AuthorizableRequestContext | None,
        bindings: Sequence[AclBinding],
    ) -> list[asyncio.Future[AclCreateResult]]:
        """Add each binding separately, so that each has its own result."""
        return [completed(AclCreateResult(self._add(binding, context))) for binding in bindings]

    def _add(
        self, binding: AclBinding, context: AuthorizableRequestContext | None
    ) -> ApiError | None:
        refusal = check_binding(binding)
        if refusal is not None:
            return refusal
        try:
            self.older.add_acls(frozenset({binding.entry}), binding.pattern)
        except Exception as error:  # plug-ins raise what they like
            return self._failure("add_acls", error, context)
        return None

    def delete_acls(
        self,
        context: AuthorizableRequestContext | None,
        filters: Sequence[AclBindingFilter],
    ) -> list[asyncio.Future[AclDeleteResult]]:
        """Remove the bindings that the filters match, resource by resource.

        All filters are matched against the same state: a binding that two of them match is removed
        once and reported under both. Bindings that have disappeared in the meantime are not
        reported.
        """
        held: Mapping[ResourcePattern, frozenset[AccessControlEntry]] = {}
        failure = None
        try:
            held = self._all()
        except Exception as error:  # as above
            failure = self._failure("get_acls", error, context)
        refusals = [check_filter(filter) or failure for filter in filters]
        accepted = [filter for filter, no in zip(filters, refusals, strict=True) if no is None]
        # Removed once for all filters, before the results of each are built.
        outcomes = self._remove(held, accepted, context)
        results = []
        for filter, no in zip(filters, refusals, strict=True):
            matched = (outcome for outcome in outcomes if matches(filter, outcome.binding))
            results.append(AclDeleteResult(no, () if no else tuple(matched)))
        return list(map(completed, results))

    def _remove(
        self,
        held: Mapping[ResourcePattern, frozenset[AccessControlEntry]],
        filters: Sequence[AclBindingFilter],
        context: AuthorizableRequestContext | None,
    ) -> list[AclBindingDeleteResult]:
        """Remove the bindings that any filter matches; return the result for each."""
        outcomes = []
        for pattern, entries in held.items():
            matched = frozenset(
                entry
                for entry in entries
                if any(matches(filter, AclBinding(pattern, entry)) for filter in filters)
            )
            if not matched:
                continue
            error: ApiError | None = None
            try:
                if (
                    # None lets the authorizer drop the resource as a whole.
                    self.older.remove_acls(None if matched == entries else matched, pattern)
                    is False
                ):
                    continue
            except Exception as failure:  # as above
                error = self._failure("remove_acls", failure, context)
            outcomes += [
                AclBindingDeleteResult(AclBinding(pattern, entry), error)
                for entry in sorted(matched)
            ]
        return outcomes

    def _failure(
        self, method: str, error: Exception, context: AuthorizableRequestContext | None
    ) -> ApiError:
        if isinstance(error, ApiError):
            return error
        name = f"{type(self.older).__module__}.{type(self.older).__qualname__}"
        request = "" if context is None else f", correlation id {context.correlation_id}"
        _LOG.error("%s failed in %s%s", name, method, request, exc_info=error)
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)

    def acls(self, wanted: AclBindingFilter) -> Iterator[AclBinding]:
        """Return matching bindings, with the narrowest query that the interface has."""
        pattern = _exact(wanted)
        if pattern is not None:
            entries = _entries(self.older.get_acls(resource=pattern))
            yield from (
                AclBinding(pattern, entry)
                for entry in sorted(entries)
                if entry_matches(wanted.entry, entry)
            )
            return
        # Without a colon the text is no principal, and ``Principal.parse`` would raise.
        if wanted.entry.principal is not None and ":" in wanted.entry.principal:
            principal = Principal.parse(wanted.entry.principal)
            held = _mapping(self.older.get_acls(principal=principal))
        else:
            held = self._all()
        for resource in sorted(held):
            bindings = (AclBinding(resource, entry) for entry in sorted(held[resource]))
            yield from (binding for binding in bindings if matches(wanted, binding))

    def acl_count(self) -> int:
        return sum(map(len, self._all().values()))

    def _all(self) -> dict[ResourcePattern, frozenset[AccessControlEntry]]:
        return _mapping(self.older.get_acls())

    def close(self) -> None:
        close = getattr(self.older, "close", None)
        if close is not None:
            close()


def _result(answer: object) -> AuthorizationResult:
    if answer is True:
        return AuthorizationResult.ALLOWED
    if answer is False:
        return AuthorizationResult.DENIED
    raise TypeError(f"authorize returned {answer!r:.80}; expected: True or False")


def _exact(filter: AclBindingFilter) -> ResourcePattern | None:
    """Return the only pattern that the filter can match, if there is only one."""
    resource_type, name, pattern_type = filter.pattern
    if (
        name is None
        or resource_type in (ResourceType.ANY, ResourceType.UNKNOWN)
        or pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED)
    ):
        return None
    return ResourcePattern(resource_type, name, pattern_type)


def _entries(acls: Iterable[AccessControlEntry]) -> frozenset[AccessControlEntry]:
    entries = frozenset(acls)
    for entry in entries:
        if not isinstance(entry, AccessControlEntry):
            raise TypeError(f"get_acls returned {entry!r:.80}; expected: an AccessControlEntry")
    return entries


def _mapping(
    acls: Mapping[ResourcePattern, Iterable[AccessControlEntry]],
) -> dict[ResourcePattern, frozenset[AccessControlEntry]]:
    held = {pattern: _entries(entries) for pattern, entries in acls.items()}
    for pattern in held:
        if not isinstance(pattern, ResourcePattern):
            raise TypeError(f"get_acls returned {pattern!r:.80}; expected: a ResourcePattern")
    return held

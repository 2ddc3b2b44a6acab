"""Event builders of the audit log. For the writer's thread.

The rule behind a decision is computed here from the immutable state of the decision, which costs
the event loop nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from doorkeeper.acls.decision import Policy, Question, explain
from doorkeeper.acls.model import AclBinding
from doorkeeper.server.authorizer.contract import AclDeleteResult, Action, AuthorizationResult
from doorkeeper.server.operations.audit.events import Binding, Decision, Event, Item, Login
from doorkeeper.server.operations.audit.events import Change as ChangeEvent
from doorkeeper.server.schema.acls import StoredBinding
from doorkeeper.server.schema.change import Change, Edit, Origin, edit
from doorkeeper.server.schema.declared import ACL
from doorkeeper.server.schema.kind import Kind
from doorkeeper_wire.api_keys import API_NAMES

if TYPE_CHECKING:
    from doorkeeper.acls.snapshot import Snapshot
    from doorkeeper.server.net.protocol.exchange import Login as ConnectionLogin
    from doorkeeper.server.runtime.request_context import AuthorizableRequestContext

SET, DELETED = "set", "deleted"


class _Counted(Struct, kw_only=True, eq=False):
    """What happened once or more times: its count, and its first and last time."""

    first_ns: int
    last_ns: int
    last_correlation_id: int | None
    count: int = 1

    @property
    def times_ns(self) -> tuple[int, int]:
        """Return both times in order, even if the clock was set back between them."""
        return min(self.first_ns, self.last_ns), max(self.first_ns, self.last_ns)


class Seen(_Counted, kw_only=True, eq=False):
    """A decision; ``key`` identifies equal ones."""

    key: object
    context: AuthorizableRequestContext
    action: Action
    allowed: bool
    policy: Policy | None
    snapshot: Snapshot | None
    last_correlation_id: int


class SeenLogin(_Counted, kw_only=True, eq=False):
    """A login."""

    login: ConnectionLogin


class RecordedRequest:
    """The decisions on one request, the entries that count them, and its repetitions since.

    The writer's thread gets it when the event loop's has forgotten it.
    """

    __slots__ = ("actions", "count", "entries", "last_correlation_id", "last_ns", "results")

    def __init__(
        self,
        actions: Sequence[Action],
        results: Sequence[AuthorizationResult],
        entries: Sequence[Seen],
    ) -> None:
        """Copy the lists, because their owner may change them."""
        self.actions = [*actions]
        self.results = [*results]
        self.entries = entries
        self.count = 0
        self.last_ns = 0
        self.last_correlation_id = 0

    def add(self) -> None:
        """Add the repetitions to the entries."""
        for seen in self.entries:
            seen.count += self.count
            if self.last_ns >= seen.last_ns:
                seen.last_ns = self.last_ns
                seen.last_correlation_id = self.last_correlation_id


def window_events(
    decisions: Iterable[Seen], again: list[RecordedRequest], logins: Iterable[SeenLogin]
) -> list[Event]:
    """Return the events of one window; ``again`` is added to the decisions, and emptied."""
    for request in again:
        request.add()
    # A build that could not be written is repeated: do not add the repetitions twice.
    again.clear()
    return [*decision_events(decisions), *map(login_event, logins)]


def decision_events(entries: Iterable[Seen]) -> list[Decision]:
    """Return the events of decisions; merge equal ones of several states with one rule."""
    events: dict[object, Decision] = {}
    for seen in entries:
        event = decision_event(seen)
        key = (seen.key, event.rule, event.binding and event.binding.id)
        known = events.get(key)
        if known is None:
            events[key] = event
        else:
            known.count += event.count
            known.first_ns = min(known.first_ns, event.first_ns)
            known.last_ns = max(known.last_ns, event.last_ns)
            known.last_correlation_id = event.last_correlation_id
    return list(events.values())


def decision_event(seen: Seen) -> Decision:
    """Return the event of a decision that was taken one or more times."""
    context, action = seen.context, seen.action
    principal = f"{context.principal.principal_type}:{context.principal.name}"
    resource = action.resource
    rule = binding = None
    # Here, in the writer's thread, and from the ACLs that decided: they may have changed since.
    if seen.policy is not None and seen.snapshot is not None:
        question = Question(
            principal,
            context.client_address,
            action.operation,
            resource.resource_type,
            resource.name,
        )
        decision = explain(seen.policy, seen.snapshot, question)
        rule = decision.rule.value
        if decision.binding is not None:
            binding = binding_of(decision.binding_id, decision.binding)
    first_ns, last_ns = seen.times_ns
    return Decision(
        count=seen.count,
        first_ns=first_ns,
        last_ns=last_ns,
        principal=principal,
        host=context.client_address,
        listener=context.listener_name,
        security_protocol=context.security_protocol,
        client_id=context.client_id,
        client_software=context.client_software,
        api=api_name(context.request_type),
        api_key=context.request_type,
        api_version=context.request_version,
        correlation_id=context.correlation_id,
        last_correlation_id=seen.last_correlation_id,
        operation=action.operation.name,
        resource_type=resource.resource_type.name,
        pattern_type=resource.pattern_type.name,
        resource_name=resource.name,
        outcome="ALLOWED" if seen.allowed else "DENIED",
        rule=rule,
        binding=binding,
        # The table of operations (``api.operations``) clears it where a denial shortens a response.
        purpose="access" if action.log_if_denied else "probe",
        log_if_allowed=action.log_if_allowed,
        log_if_denied=action.log_if_denied,
        reference_count=action.resource_reference_count,
    )


def login_event(seen: SeenLogin) -> Login:
    """Return the event of equal logins."""
    login = seen.login
    header = login.header
    principal = login.principal
    first_ns, last_ns = seen.times_ns
    return Login(
        count=seen.count,
        first_ns=first_ns,
        last_ns=last_ns,
        outcome="FAILED" if login.reason is not None else "SUCCEEDED",
        principal=None if principal is None else f"{principal.principal_type}:{principal.name}",
        host=login.peer.host,
        listener=login.peer.listener_name,
        security_protocol=login.peer.security_protocol,
        client_id="" if header is None else header.client_id or "",
        client_software=login.client_software,
        api=None if header is None else api_name(header.api_key),
        api_key=None if header is None else header.api_key,
        api_version=None if header is None else header.api_version,
        correlation_id=None if header is None else header.correlation_id,
        last_correlation_id=seen.last_correlation_id,
        mechanism=login.mechanism,
        reauthentication=login.reauthentication,
        reason=login.reason,
    )


def change_events(change: Change, revision: int | None, origin: Origin) -> Iterator[ChangeEvent]:
    """Yield the events of a durable change, one for each kind."""
    author, asked = origin.author, origin.request
    for kind, rows in change.items():
        is_acl = kind is ACL
        yield ChangeEvent(
            subject=kind.subject,
            revision=revision,
            principal=author.principal,
            host=author.host,
            listener=author.listener,
            security_protocol="" if asked is None else asked.security_protocol,
            client_id=author.client_id,
            client_software="" if asked is None else asked.client_software,
            api=None if asked is None else api_name(asked.request_type),
            api_key=None if asked is None else asked.request_type,
            api_version=None if asked is None else asked.request_version,
            correlation_id=None if asked is None else asked.correlation_id,
            added=tuple(starmap(binding_of, rows.set)) if is_acl else (),
            removed=tuple(starmap(binding_of, rows.deleted)) if is_acl else (),
            items=() if is_acl else tuple(_items(kind, rows)),
        )


def _items(kind: Kind, rows: Edit) -> Iterator[Item]:
    """Yield the names of changed rows, without values and secrets."""
    for action, changed in ((SET, rows.set), (DELETED, rows.deleted)):
        for row in changed:
            detail = getattr(row, kind.audit_detail) if kind.audit_detail else ""
            yield Item(action=action, name=getattr(row, kind.audit_name), detail=detail)


def binding_of(binding_id: str | None, binding: AclBinding) -> Binding:
    """Return an ACL in the form of events; an empty id becomes None."""
    pattern, entry = binding
    return Binding(
        id=binding_id or None,
        resource_type=pattern.resource_type.name,
        pattern_type=pattern.pattern_type.name,
        resource_name=pattern.name,
        principal=entry.principal,
        host=entry.host,
        operation=entry.operation.name,
        permission=entry.permission_type.name,
    )


def change_from_results(items: Sequence[Any], results: Sequence[Any]) -> Change:
    """Return the change that an authorizer reports in the results of creations or deletions.

    It has no ids, and may contain created ACLs that existed before.
    """
    if results and isinstance(results[0], AclDeleteResult):
        deleted = (row for result in results for row in result.bindings if row.error is None)
        # A binding that several filters match is reported under each, and was deleted once.
        names = dict.fromkeys(row.binding for row in deleted)
        return edit(ACL, deleted=[StoredBinding("", binding) for binding in names])
    pairs = zip(items, results, strict=True)
    created = (binding for binding, result in pairs if result.error is None)
    return edit(ACL, set=[StoredBinding("", binding) for binding in created])


def api_name(api_key: int) -> str:
    """Return Kafka's name of an API, or its number if it is unknown."""
    # A plug-in may report changes for a request that it made up.
    return API_NAMES.get(api_key, str(api_key))

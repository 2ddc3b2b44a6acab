"""Questions of tests, and results that explain themselves in a failed assertion."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from msgspec import Struct

from doorkeeper.acls.decision import Question, RuleKind
from doorkeeper.acls.hosts import java_text
from doorkeeper.acls.model import ANY_HOST, CLUSTER_NAME, AclOperation, Principal, ResourceType

if TYPE_CHECKING:
    from doorkeeper.acls.explanation import Explanation
    from doorkeeper.acls.model import AclBinding
    from doorkeeper.testing.options import ResourceOption

_TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.CLUSTER,
    "transactional_id": ResourceType.TRANSACTIONAL_ID,
    "delegation_token": ResourceType.DELEGATION_TOKEN,
    "user": ResourceType.USER,
}
_OPERATIONS = {
    operation.name.replace("_", ""): operation
    for operation in AclOperation
    if operation > AclOperation.ALL
}


class Answer(Struct, frozen=True, eq=False):
    """A boolean, true if the decision is the expected one; its repr has question and reason.

    ``explanation`` is None if another authorizer than Kafka's standard one decides.
    """

    question: Question
    allowed: bool
    expected: bool
    explanation: Explanation | None = None

    def __bool__(self) -> bool:
        return self.allowed is self.expected

    def __repr__(self) -> str:
        who, host, operation, resource_type, name = self.question
        verdict = "allowed" if self.allowed else "denied"
        reason = "" if self.explanation is None else f" because {reason_of(self.explanation)}"
        what = f"{operation.name} on {resource_type.name} {name!r} from {host}"
        return f"<{who} is {verdict} {what}{reason}>"


def question_of(
    principal: str, operation: str | AclOperation, resource: ResourceOption
) -> Question:
    """Build a question; operations are named as in ACLs, in any case.

    Raises:
        ValueError: the principal has no type, the operation or resource is unknown, or the host is
            not an address.
    """
    host = host_of(str(resource.get("host", "127.0.0.1")))
    return Question(
        str(Principal.parse(principal)), host, operation_of(operation), *resource_of(resource)
    )


def resource_of(resource: ResourceOption) -> tuple[ResourceType, str]:
    """Return the type and the name of a resource.

    Raises:
        ValueError: there is none, more than one, or it is unknown.
    """
    named = {key: value for key, value in resource.items() if key != "host"}
    if len(named) != 1 or not named.keys() <= _TYPES.keys():
        names = ", ".join(sorted(named)) or "none"
        raise ValueError(f"resource: found {names}; allowed: exactly one of {', '.join(_TYPES)}")
    ((kind, value),) = named.items()
    return _TYPES[kind], CLUSTER_NAME if kind == "cluster" else str(value)


def host_of(host: str) -> str:
    """Return an address as Java writes it, because Kafka compares texts.

    Raises:
        ValueError: it is neither an address nor ``*``.
    """
    if host == ANY_HOST:
        return ANY_HOST
    try:
        return java_text(ip_address(host))
    except ValueError:
        raise ValueError(f"host: found {host!r}; allowed: an address, or *") from None


def operation_of(operation: str | AclOperation) -> AclOperation:
    """Return the operation with a name: ``READ``, ``Read``, ``DescribeConfigs``."""
    if isinstance(operation, AclOperation):
        return operation
    known = _OPERATIONS.get(operation.upper().replace("_", ""))
    if known is None:
        allowed = ", ".join(member.name for member in _OPERATIONS.values())
        raise ValueError(f"operation: found {operation!r}; allowed: {allowed}")
    return known


def reason_of(explanation: Explanation) -> str:
    """Return the cause of the decision in a few words."""
    decision = explanation.decision
    if decision.binding is not None:
        return f"of {text_of(decision.binding)}"
    if decision.rule is RuleKind.SUPER_USER:
        return "it is a super user"
    covering = [weighed.binding for weighed in explanation.considered]
    if decision.rule is RuleKind.DEFAULT_ALLOW:
        return "no ACL covers the resource, and allow.everyone.if.no.acl.found is true"
    if not covering:
        return "no ACL covers the resource"
    about = ", ".join(
        f"{text_of(weighed.binding)} {weighed.bearing.value}"
        for weighed in explanation.considered[:3]
    )
    more = f", and {len(covering) - 3} more" if len(covering) > 3 else ""
    return f"no ACL allows it: {about}{more}"


def text_of(binding: AclBinding) -> str:
    (resource_type, name, pattern_type), (who, host, operation, permission) = binding
    return (
        f"{permission.name} {who} {operation.name} on {pattern_type.name} {resource_type.name}"
        f" {name!r} from {host}"
    )

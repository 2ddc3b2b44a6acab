"""An answer as a line of ``kafka-authorizer.log``, in the form of each era.

    A   0.9 to 1.1     Operation in words, resource without its pattern type
    B   2.0 to 2.3     with the pattern type
    C   2.4 to 3.9     with request and reference count (AclAuthorizer)
    D   3.3 to 4.1     operation in capitals, with the rule, its ACL in round brackets
    E   4.2 on         its ACL in square brackets

Only the text after the moment depends on the question, so it is made once for each distinct
question. Nothing is escaped, as in Kafka.

Source: the shipped pattern ``[%d] %p %m (%c)%n``; ``StandardAuthorizerData.buildAuditMessage``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.acls.decision import RuleKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.acls.decision import Decision
    from synthetic.traffic import World

ERAS = ("A", "B", "C", "D", "E")
_END = " (kafka.authorizer.logger)"


def tails_of(world: World, era: str) -> Iterator[str]:
    """Return the text after ``[moment] `` in a line, for each question of a world in order.

    Raises:
        ValueError: there is no such era.

    """
    if era not in ERAS:
        raise ValueError(f"era {era!r}; there are {', '.join(ERAS)}")
    rows = zip(
        *(column.to_pylist() for column in world.questions.columns[:7]),
        world.decisions,
        strict=True,
    )
    for *asked, decision in rows:
        yield f"{tail_of(Asked(*asked), decision, era)}\n"


class Asked(NamedTuple):
    """What a line says of a request, in the words of Kafka's enumerations."""

    principal: str
    host: str
    operation: str
    resource_type: str
    resource_name: str
    api: str
    references: int = 1


def tail_of(asked: Asked, decision: Decision, era: str) -> str:
    """Return the text after ``[moment] ``, without the end of the line."""
    who, host, what, kind, name, api, references = asked
    verdict = "Allowed" if decision.allowed else "Denied"
    level = "DEBUG" if decision.allowed else "INFO"
    operation = f"operation = {what}" if era in "DE" else f"Operation = {pascal(what)}"
    resource = f"{pascal(kind)}:{name}" if era == "A" else f"{pascal(kind)}:LITERAL:{name}"
    head = (
        f"{level} Principal = {who} is {verdict} {operation} from host = {host}"
        f" on resource = {resource}"
    )
    request = f" for request = {api} with resourceRefCount = {references}"
    match era:
        case "A" | "B":
            return f"{head}{_END}"
        case "C":
            return f"{head}{request}{_END}"
        case _:
            return f"{head}{request} based on rule {rule_text(decision, era)}{_END}"


def rule_text(decision: Decision, era: str) -> str:
    """Return the rule as eras D and E name it."""
    if decision.rule is not RuleKind.MATCHING_ACL or decision.binding is None:
        return decision.rule.value
    left, right = "[]" if era == "E" else "()"
    pattern, entry = decision.binding
    return (
        f"MatchingAcl(acl=StandardAcl{left}resourceType={pattern.resource_type.name},"
        f" resourceName={pattern.name}, patternType={pattern.pattern_type.name},"
        f" principal={entry.principal}, host={entry.host}, operation={entry.operation.name},"
        f" permissionType={entry.permission_type.name}{right})"
    )


def pascal(name: str) -> str:
    """Return a name of Kafka's the way its Scala classes wrote it: ``DescribeConfigs``."""
    return "".join(part.capitalize() for part in name.split("_"))

"""Doorkeeper's own audit log: ``schemas/records/audit_event.json``."""

from __future__ import annotations

from typing import Annotated

import msgspec

from doorkeeper.acls.formats import request_words
from doorkeeper_pipeline.bindings import TEXT
from doorkeeper_pipeline.evaluation.numbering import Numbered
from doorkeeper_pipeline.sources import json_lines
from doorkeeper_pipeline.sources.json_lines import Decided, Line, Missing

SOURCE = "trail"
NS_IN_US = 1000


class Binding(msgspec.Struct, frozen=True):
    """The ACL of a decision, its fields in the order of ``bindings.FIELDS``."""

    resource_type: str
    resource_name: str
    pattern_type: str
    principal: str
    host: str
    operation: str
    permission: str


class Event(msgspec.Struct, frozen=True):
    """The fields of any event that the tables need; absent ones have these defaults."""

    kind: str
    seq: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)] = 0
    node: Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)] = 0
    ts_ns: int = 0
    count: int = 1
    first_ns: int = 0
    last_ns: int = 0
    principal: str | None = None
    host: str = ""
    operation: str = ""
    resource_type: str = ""
    pattern_type: str = ""
    resource_name: str = ""
    outcome: str = ""
    api: str | None = None
    rule: str | None = None
    binding: Binding | None = None
    log_if_allowed: bool = True
    log_if_denied: bool = True
    reference_count: int = 1


_DECODER = msgspec.json.Decoder(Event)
_OUTCOMES = ("ALLOWED", "DENIED")


def line(text: bytes) -> Line:
    """Return the decision of a line of the audit log, with its number.

    Raises:
        ValueError: it is no event.

    """
    event = _DECODER.decode(text)
    content = _content(event)
    if not event.seq:
        return content
    at_us = event.ts_ns // NS_IN_US
    json_lines.check_times(at_us, at_us)
    allowed = bool(content.decided) and event.outcome == "ALLOWED"
    return content._replace(number=Numbered(event.node, event.seq, at_us, allowed))


def _content(event: Event) -> Line:
    if event.kind == "dropped":
        first_ns, last_ns = event.first_ns or event.ts_ns, event.last_ns or event.ts_ns
        json_lines.check_times(first_ns // NS_IN_US, last_ns // NS_IN_US)
        missing = Missing(max(event.count, 0), first_ns // NS_IN_US, last_ns // NS_IN_US)
        return Line(missing=missing)
    if event.kind != "decision":
        return Line()  # a change, a login; or what a newer server tells besides
    if event.outcome not in _OUTCOMES:
        raise ValueError(f"outcome: found {event.outcome!r}; expected: one of {_OUTCOMES}")
    if event.pattern_type != "LITERAL" or event.reference_count == 0:
        return Line()  # asked for any resource of a type, not for one
    denied = event.outcome == "DENIED"
    decided = Decided(
        principal=event.principal or "",
        host=event.host,
        operation=request_words.operation(event.operation),
        resource_type=request_words.resource_type(event.resource_type),
        resource_name=event.resource_name,
        outcome=event.outcome,
        api=event.api or "",
        rule=event.rule or "",
        rule_binding=TEXT.format(*msgspec.structs.astuple(event.binding)) if event.binding else "",
        probe=not (event.log_if_denied if denied else event.log_if_allowed),
        count=event.count,
        first_us=event.first_ns // NS_IN_US,
        last_us=event.last_ns // NS_IN_US,
    )
    return Line([json_lines.check_row(decided)])

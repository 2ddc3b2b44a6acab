"""``accept:``, findings of ``doorkeeper acls lint`` that a file accepts, with a reason and an end.

    accept:
      - {code: W006, name: news, principal: "User:*", until: 2027-03-31, reason: "public topic"}

A finding is accepted for an ACL that matches each of ``principal``, ``resourceType`` and ``name``,
up to the end of the day ``until``.
"""

from __future__ import annotations

from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.formats import values
from doorkeeper.acls.formats.names import FormatError, resource_type, suggestion, wrong

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.acls.formats.documents import Path
    from doorkeeper.acls.model import AclBinding, ResourceType

WORDS: Final = ("code", "reason", "until", "principal", "resourceType", "name")
_NEEDED: Final = ("code", "reason", "until")


class Acceptance(Struct, frozen=True):
    """An accepted finding: its code, the ACLs that it is about (None: any), reason and last day."""

    code: str
    principal: str | None
    resource_type: ResourceType | None
    name: str | None
    reason: str
    until: date
    path: Path = ()

    def accepts(self, code: str, binding: AclBinding) -> bool:
        pattern, entry = binding
        return (
            self.code == code
            and self.principal in (None, entry.principal)
            and self.resource_type in (None, pattern.resource_type)
            and self.name in (None, pattern.name)
        )


def acceptances(value: object, text_of: Callable[[str], str]) -> tuple[Acceptance, ...]:
    """Return the acceptances of the value of ``accept``; ``text_of`` replaces variables."""
    rows = values.rows(partial(_acceptance, text_of), value, "accept")
    return tuple(replace(acceptance, path=path) for path, acceptance in rows)


def _acceptance(text_of: Callable[[str], str], value: object) -> Acceptance:
    from doorkeeper.acls.lint import CODES  # noqa: PLC0415  few files accept findings

    texts = {}
    for word, member in values.record(value, WORDS, _NEEDED).items():
        if word != "until" and (not isinstance(member, str) or not member.strip()):
            raise wrong(member, "a string", word)
        texts[word] = member if word == "until" else text_of(member)
    if texts["code"] not in CODES:
        near = suggestion(texts["code"], CODES)
        raise FormatError(f"code: found {texts['code']!r}; allowed: {', '.join(CODES)}{near}")
    # Findings of all ACLs are left out by --ignore, where everybody sees it.
    if not {"principal", "name"} & texts.keys():
        raise FormatError(
            "missing: principal or name; an acceptance must name the ACLs it applies to"
        )
    kind = resource_type(texts["resourceType"]) if "resourceType" in texts else None
    return Acceptance(
        texts["code"],
        texts.get("principal"),
        kind,
        texts.get("name"),
        texts["reason"],
        _day(texts["until"]),
    )


def _day(value: object) -> date:
    # YAML reads a date as one, JSON has a text.
    if type(value) is date:
        return value
    try:
        return date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        raise wrong(value, "a date such as 2027-03-31", "until") from None

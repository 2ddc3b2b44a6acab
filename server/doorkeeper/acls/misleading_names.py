"""Names in ACLs that can never be what they look like: patterns of other tools, lists, blanks.

    TOPIC LITERAL "orders*"      no topic has an asterisk in its name; PREFIXED "orders" is meant
    User:a,User:b                one principal of this very name
    "User:bob "                  with a blank at its end, which nobody sees

StandardAuthorizer compares names as texts, and a broker stores all of them.

Source: ``org.apache.kafka.common.internals.Topic.validate``; ``StandardAcl``.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final, NamedTuple

from doorkeeper.acls.model import WILDCARD, AclBinding, PatternType, ResourcePattern, ResourceType
from doorkeeper.acls.near_misses import INVISIBLE, NEXT_PRINCIPAL

if TYPE_CHECKING:
    from collections.abc import Iterable

_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]+")
_TOPIC_LENGTH_MAX: Final = 249
_TOPIC_WORDS: Final = "topic names consist of letters, digits, '.', '_' and '-'"
_NAMED: Final = {
    ResourceType.TOPIC: "topic",
    ResourceType.GROUP: "group",
    ResourceType.TRANSACTIONAL_ID: "transactional id",
}
_EXPRESSION: Final = re.compile(r"[\\^$|()\[\]{}+?]|^/.*/$|\.\*.")
_STAR_AT_END: Final = re.compile(r"([^*]+)\*+")


class Misleading(NamedTuple):
    """What a name is not, what to write, and the bindings that are meant; empty if unclear."""

    reason: str
    advice: str
    meant: tuple[AclBinding, ...] = ()


def misleading_name(binding: AclBinding) -> Misleading | None:
    """Return why the resource of a binding is not what its name looks like, or None."""
    kind, name, pattern_type = binding.pattern
    what = _NAMED.get(kind)
    if what is None or name == WILDCARD:
        return None
    if letters := _invisible(name):
        reason = f"the name contains {letters}; a {what} without it is a different one"
        return _as(binding, reason, visible := _visible(name), [_named(binding, visible)])
    if kind is ResourceType.TOPIC:
        return _misleading_topic(binding)
    star = _STAR_AT_END.fullmatch(name)
    if star is None:
        return None
    reason = (
        f"an asterisk in a name is an ordinary character: this ACL applies only to the {what}"
        f" {name!r}"
    )
    if pattern_type is PatternType.PREFIXED:
        reason = (
            f"an asterisk in a prefix is an ordinary character: no ordinary {what} begins with it"
        )
    return _prefix(binding, reason, star[1])


def _misleading_topic(binding: AclBinding) -> Misleading | None:
    _, name, pattern_type = binding.pattern
    is_prefix = pattern_type is PatternType.PREFIXED
    is_valid = _TOPIC.fullmatch(name) and len(name) <= _TOPIC_LENGTH_MAX
    if is_valid and (is_prefix or name not in (".", "..")):
        return None
    never = "no topic can begin with this" if is_prefix else "no topic can have this name"
    reason = f"{never}: {_TOPIC_WORDS}, up to {_TOPIC_LENGTH_MAX} characters"
    star = _STAR_AT_END.fullmatch(name)
    if star is not None and _TOPIC.fullmatch(star[1]):
        return _prefix(binding, reason, star[1])
    names = [part.strip() for part in name.split(",")]
    if len(names) > 1 and all(map(_TOPIC.fullmatch, names)):
        meant = [_named(binding, part) for part in names]
        return _as(binding, reason, "create one ACL for each name", meant)
    if "*" in name or _EXPRESSION.search(name):
        return Misleading(
            f"{reason}; brokers do not support regular expressions",
            "use PREFIXED, or list the names: kafka-topics.sh --list | grep -E EXPRESSION > FILE",
        )
    return Misleading(reason, "write the name of the topic")


def misleading_principal(binding: AclBinding) -> Misleading | None:
    """Return why the principal of a binding is not what it looks like, or None."""
    principal = binding.entry.principal
    if letters := _invisible(principal.partition(":")[2] or principal):
        reason = f"the principal contains {letters}; a login without it is a different principal"
        visible = ":".join(_visible(part) for part in principal.split(":", 1))
        return _as(binding, reason, visible, [_of(binding, visible)])
    parts = NEXT_PRINCIPAL.split(principal)
    if len(parts) > 1:
        reason = "a list is read as one principal with this exact name"
        meant = [_of(binding, part) for part in parts]
        return _as(binding, reason, "create one ACL for each principal", meant)
    return None


def misleading_in(bindings: Iterable[AclBinding]) -> list[Misleading]:
    """Return what misleads in bindings, each reason once."""
    every = (
        rule(binding) for binding in bindings for rule in (misleading_name, misleading_principal)
    )
    return list(
        {misleading.reason: misleading for misleading in every if misleading is not None}.values()
    )


def _as(binding: AclBinding, reason: str, words: str, meant: Iterable[AclBinding]) -> Misleading:
    return Misleading(
        reason, f"write {words}", tuple(variant for variant in meant if variant != binding)
    )


def _prefix(binding: AclBinding, reason: str, prefix: str) -> Misleading:
    """Return what misleads where a prefix is meant: one that ends with a dot keeps it."""
    pattern = ResourcePattern(binding.pattern.resource_type, prefix, PatternType.PREFIXED)
    return _as(binding, reason, f"PREFIXED {prefix}", [AclBinding(pattern, binding.entry)])


def _named(binding: AclBinding, name: str) -> AclBinding:
    kind, _, pattern_type = binding.pattern
    return AclBinding(ResourcePattern(kind, name, pattern_type), binding.entry)


def _of(binding: AclBinding, principal: str) -> AclBinding:
    return AclBinding(binding.pattern, binding.entry._replace(principal=principal))


def _invisible(text: str) -> str:
    """Return the first letter that nobody sees, in words; empty if there is none.

    A blank between others is seen.
    """
    for index, letter in enumerate(text):
        is_blank = letter == " "
        if is_blank and text[:index].strip() and text[index:].strip():
            continue
        if is_blank or unicodedata.category(letter) in INVISIBLE:
            name = unicodedata.name(letter, "a control character")
            return f"U+{ord(letter):04X} {name} as character {index + 1} of {len(text)}"
    return ""


def _visible(text: str) -> str:
    letters = (
        letter for letter in text if letter == " " or unicodedata.category(letter) not in INVISIBLE
    )
    return "".join(letters).strip()

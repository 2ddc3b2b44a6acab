"""Rules about ACLs, which ``doorkeeper acls assert`` checks.

    version: 1
    rules:
      - rule: only
        principal: [User:pay-app, User:pay-batch]
        operation: READ
        resourceType: TOPIC
        name: pii-
        patternType: PREFIXED

``rule`` is ``never``, ``always``, ``only`` or ``no more than before``. Without ``name`` a rule is
about all names, without ``host`` about all clients. One of ``no more than before`` needs no other
word.

Source: ``schemas/records/acl_rules.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from doorkeeper.acls.assertions import Assertion, AssertionKind
from doorkeeper.acls.formats import values
from doorkeeper.acls.formats.documents import document_of, document_of_yaml, lines_of
from doorkeeper.acls.formats.names import (
    FormatError,
    check_words,
    operation,
    pattern_type,
    resource_type,
    short,
    suggestion,
    wrong,
)
from doorkeeper.acls.hosts import java_host
from doorkeeper.acls.model import WILDCARD, AclOperation, Principal, ResourceType
from doorkeeper.acls.networks import network_of
from doorkeeper.acls.operations import SUPPORTED_OPERATIONS
from doorkeeper.acls.partition import extent_of
from doorkeeper.acls.regions import ALL_NAMES, CLUSTER, Extent

T = TypeVar("T")

VERSION: Final = 1
WORDS: Final = (
    *("rule", "principal", "operation", "resourceType", "name", "patternType", "host", "reason"),
)
_NEEDED: Final = ("principal", "operation", "resourceType")


def read_assertions(text: str) -> list[tuple[int, Assertion]]:
    """Return the rules of a YAML or JSON text, each with its line."""
    text = text.removeprefix("\ufeff")
    is_json = text.lstrip().startswith("{")
    document = document_of(text) if is_json else document_of_yaml(text)
    line_of = lines_of(text)
    try:
        rules = list(_assertions(document))
    except FormatError as error:
        raise FormatError(str(error), line_of(error.path)) from None
    return [(line_of(rule.path), rule) for rule in rules]


def _assertions(document: object) -> Iterator[Assertion]:
    if not isinstance(document, dict):
        raise wrong(document, "a mapping with version and rules")
    check_words([word for word in document if not str(word).startswith("x-")], ("version", "rules"))
    values.check_version(document, VERSION)
    rules = document.get("rules")
    if not isinstance(rules, list) or not rules:
        raise wrong(rules, "a list of rules", "rules")
    for path, rule in values.rows(_assertion, rules, "rules"):
        yield replace(rule, path=path)


def _assertion(rule: object) -> Assertion:
    if not isinstance(rule, dict):
        raise wrong(rule, f"a mapping with the keys rule, {', '.join(_NEEDED)}")
    check_words(rule, WORDS)
    kind = _kind(rule)
    missing = [word for word in _NEEDED if word not in rule]
    if missing and kind is not AssertionKind.NO_MORE:
        raise FormatError(f"missing: {', '.join(missing)}; {kind.value!r} requires it")
    if "patternType" in rule and "name" not in rule:
        raise FormatError("missing: name; patternType applies to a name")
    if "name" in rule and "resourceType" not in rule:
        raise FormatError("missing: resourceType; a name requires the type of its resource")
    kinds = _words(rule, "resourceType", resource_type)
    if "name" in rule and len(kinds) > 1:
        raise FormatError(
            "resourceType: found several types; with name, give one", path=("resourceType",)
        )
    for kind_ in kinds:
        if kind_ not in SUPPORTED_OPERATIONS:
            allowed = ", ".join(allowed_kind.name for allowed_kind in SUPPORTED_OPERATIONS)
            raise FormatError(f"resourceType: found {kind_.name}; allowed: {allowed}")
    reason = rule.get("reason")
    if reason is not None and not isinstance(reason, str):
        raise wrong(reason, "a string", "reason")
    return Assertion(
        kind,
        tuple(_words(rule, "principal", _principal)),
        tuple(_operations(rule, kinds or list(SUPPORTED_OPERATIONS))),
        _names(rule, kinds),
        _host(rule),
        reason,
    )


def _kind(rule: dict[str, Any]) -> AssertionKind:
    value = rule.get("rule")
    words = {member.value: member for member in AssertionKind}
    text = " ".join(str(value).lower().replace("-", " ").replace("_", " ").split())
    if text not in words:
        near = suggestion(text, words) if value is not None else ""
        raise FormatError(
            f"rule: found {short(value)}; allowed: {', '.join(words)}{near}", path=("rule",)
        )
    return words[text]


def _texts(rule: dict[str, Any], word: str) -> list[str]:
    value = rule.get(word, [])
    texts = value if isinstance(value, list) else [value]
    if (not texts and word in rule) or not all(isinstance(text, str) and text for text in texts):
        raise wrong(value, "a string", word)
    return texts


def _words(rule: dict[str, Any], word: str, parse: Callable[[str], T]) -> list[T]:
    try:
        return [parse(text) for text in _texts(rule, word)]
    except FormatError as error:
        raise error.at((word,) if not error.path else ()) from None


def _principal(text: str) -> str:
    try:
        return str(Principal.parse(text))
    except ValueError as error:
        raise FormatError(f"principal: {error}") from None


def _operations(
    rule: dict[str, Any], kinds: list[ResourceType]
) -> Iterator[tuple[ResourceType, tuple[AclOperation, ...]]]:
    operations = _words(rule, "operation", operation) or [AclOperation.ALL]
    for kind in kinds:
        supported = SUPPORTED_OPERATIONS[kind]
        if AclOperation.ALL in operations:
            yield kind, supported
            continue
        unknown = [asked.name for asked in operations if asked not in supported]
        # With several types each operation is about those that have it.
        if unknown and "resourceType" in rule:
            allowed = ", ".join(member.name for member in supported)
            raise FormatError(
                f"operation: found {', '.join(unknown)}; allowed for {kind.name}: {allowed}, ALL",
                path=("operation",),
            )
        yield kind, tuple(member for member in supported if member in operations)


def _names(rule: dict[str, Any], kinds: list[ResourceType]) -> Extent:
    if kinds == [ResourceType.CLUSTER]:
        return CLUSTER
    if "name" not in rule:
        return ALL_NAMES
    name = rule["name"]
    if not isinstance(name, str) or not name:
        raise wrong(name, "a string", "name")
    how = rule.get("patternType", "LITERAL")
    if not isinstance(how, str):
        raise FormatError(f"patternType: found {short(how)}; allowed: LITERAL, PREFIXED")
    try:
        return extent_of(name, pattern_type(how))
    except FormatError as error:
        raise error.at(("patternType",)) from None


def _host(rule: dict[str, Any]) -> str:
    value = rule.get("host", WILDCARD)
    host = value if isinstance(value, str) else ""
    network = network_of(host)
    written = str(network) if network is not None else java_host(host)
    if host != WILDCARD and written is None:
        raise FormatError(
            f"host: found {short(value)}; allowed: an address, a network such as 10.0.0.0/8, or *",
            path=("host",),
        )
    return host if written is None else written

"""``topics:``, ``users:`` and ``quotas:`` beside ACLs, and the names of them that a file owns.

    owns:
      - {topics: [{name: pay-, patternType: PREFIXED}], users: pay-app, quotas: {users: pay-app}}
    topics:
      - {name: pay-orders, partitions: 6, replicationFactor: 3, configs: {cleanup.policy: compact}}
    users:
      - {name: pay-app, mechanism: SCRAM-SHA-512, password: "${env:PAY_APP_PASSWORD}"}
    quotas:
      - {user: pay-app, clientId: loader, producer_byte_rate: 1048576}

A password is a reference, never a text: the text of a file is seen by its readers, and by errors.
"""

from __future__ import annotations

import itertools
import re
from functools import partial
from sys import float_info
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec.structs import replace

from doorkeeper.acls.entities.model import (
    CLIENT_ID,
    CLIENT_QUOTAS,
    DEFAULT_NAME,
    IP,
    IP_QUOTAS,
    USER,
    Credential,
    EntityName,
    EntityScope,
    EntitySet,
    OwnedName,
    Quota,
    TopicEntity,
    client_of,
)
from doorkeeper.acls.formats import values
from doorkeeper.acls.formats.names import FormatError, check_words, short, wrong
from doorkeeper.base.credentials import DIGESTS, ITERATIONS_MAX, ITERATIONS_MIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from doorkeeper.acls.entities.model import Entity
    from doorkeeper.acls.formats.documents import Path

    TextOf = Callable[[str], str]
    Reader = Callable[[object, TextOf], Iterator[Entity]]

SECTIONS: Final = ("topics", "users", "quotas")
"""The members of a document, and the words of ``owns``."""
TOPIC_WORDS: Final = ("name", "partitions", "replicationFactor", "configs")
USER_WORDS: Final = ("name", "mechanism", "iterations", "password")
QUOTA_CLIENTS: Final = {"user": USER, "clientId": CLIENT_ID, "ip": IP}
QUOTA_OWNERS: Final = {
    "users": EntityScope.QUOTA_USER,
    "clientIds": EntityScope.QUOTA_CLIENT_ID,
    "ips": EntityScope.QUOTA_IP,
}
REFERENCE: Final = r"\$\{(env:[^:{}]+|file:[^:{}]+(:[^{}]+)?|dir:[^:{}]+:[^:{}]+)\}"
"""A reference to a password."""

_REFERENCE: Final = re.compile(REFERENCE)
_TOPIC_NAME: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")
# Names with other characters could never log in.
_USER_NAME: Final = re.compile(r"[\x01-\x7F]+")
_INT_MAX: Final = 2**31 - 1
_SHORT_MAX: Final = 2**15 - 1


def is_entity_part(value: object) -> bool:
    """Say whether a part of ``owns`` is about topics, users or quotas, not about ACLs."""
    return isinstance(value, dict) and any(word in SECTIONS for word in value)


def entities_of(document: Mapping[str, Any], text_of: TextOf) -> EntitySet:
    """Return the entities of a document; ``text_of`` replaces variables in names.

    Raises:
        FormatError: one is malformed, stands twice, or is not owned though others of its kind are.
    """
    owned = tuple(_read_owned(document.get("owns", ()), text_of))
    entities: list[Entity] = []
    paths: list[Path] = []
    seen: set[object] = set()
    for section, read in _READERS.items():
        reader = partial(_distinct, read, text_of, seen)
        for path, of_row in values.rows(reader, document.get(section, []), section):
            entities += of_row
            paths += [path] * len(of_row)
    return EntitySet(tuple(entities), tuple(paths), owned)


def _distinct(read: Reader, text_of: TextOf, seen: set[object], row: object) -> list[Entity]:
    entities = list(read(row, text_of))
    for entity in entities:
        key = (type(entity), entity.key)
        if key in seen:
            raise FormatError(f"{entity.owner_name} occurs twice in this file")
        seen.add(key)
    return entities


def _read_owned(value: object, text_of: TextOf) -> Iterator[OwnedName]:
    parts: Iterable[tuple[Path, object]] = [(("owns",), value)]
    if isinstance(value, list):
        parts = [(("owns", index), part) for index, part in enumerate(value)]
    for path, part in parts:
        if not isinstance(part, dict) or not is_entity_part(part):
            continue
        check_words(part, SECTIONS, path, "owns: ")
        for word, scope in (("topics", EntityScope.TOPIC), ("users", EntityScope.USER)):
            if word in part:
                yield from _owned_names(part[word], word, scope, path, text_of)
        quotas = part.get("quotas", {})
        if not isinstance(quotas, dict) or ("quotas" in part and not quotas):
            allowed = f"a mapping with {', '.join(QUOTA_OWNERS)}"
            raise wrong(quotas, allowed, "owns: quotas", (*path, "quotas"))
        check_words(quotas, tuple(QUOTA_OWNERS), (*path, "quotas"), "owns: quotas: ")
        for word, names in quotas.items():
            yield from _owned_names(names, word, QUOTA_OWNERS[word], path, text_of)


def _owned_names(
    value: object, word: str, scope: EntityScope, path: Path, text_of: TextOf
) -> Iterator[OwnedName]:
    for entry in value if isinstance(value, list) else [value]:
        name, kind = entry, "LITERAL"
        if isinstance(entry, dict):
            check_words(entry, ("name", "patternType"), path, f"owns: {word}: ")
            name, kind = entry.get("name"), str(entry.get("patternType", kind)).upper()
        # An empty prefix would own all names of the cluster, by a variable that is empty.
        if not isinstance(name, str) or not name:
            raise wrong(entry, "a name", f"owns: {word}", path)
        if kind not in ("LITERAL", "PREFIXED"):
            raise FormatError(
                f"owns: {word}: patternType: found {short(kind)}; allowed: LITERAL, PREFIXED",
                path=path,
            )
        is_default = name == DEFAULT_NAME and scope not in (EntityScope.TOPIC, EntityScope.USER)
        entity = EntityName(scope, None if is_default else text_of(name))
        if not entity.name and not is_default:
            raise FormatError(f"owns: {word}: {name}: found an empty name", path=path)
        yield OwnedName(entity, kind == "PREFIXED", path)


def _topics(row: object, text_of: TextOf) -> Iterator[TopicEntity]:
    words = values.record(row, TOPIC_WORDS, ("name",))
    name = text_of(values.member(values.text, words, "name"))
    if _TOPIC_NAME.fullmatch(name) is None or name in (".", ".."):
        raise FormatError(
            f"name: found {short(name)}; allowed: up to 249 letters, digits, '.', '_' and '-'",
            path=("name",),
        )
    configs = words.get("configs")
    if configs is not None and not isinstance(configs, dict):
        raise wrong(configs, "a mapping of configuration keys to values", "configs")
    yield TopicEntity(
        name,
        _number(words, "partitions", 1, _INT_MAX),
        _number(words, "replicationFactor", 1, _SHORT_MAX),
        None if configs is None else tuple(sorted(itertools.starmap(_config, configs.items()))),
    )


def _config(name: object, value: object) -> tuple[str, str]:
    if not isinstance(name, str) or not name:
        raise wrong(name, "the name of a configuration key", "configs")
    if isinstance(value, bool):
        return name, "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        raise wrong(value, "a string or a number", f"configs: {name}", ("configs", name))
    return name, str(value)


def _credentials(row: object, text_of: TextOf) -> Iterator[Credential]:
    words = values.record(row, USER_WORDS, ("name", "mechanism", "password"))
    password = words["password"]
    # Neither here nor elsewhere is the text shown: it may be a password.
    if not isinstance(password, str) or _REFERENCE.fullmatch(password) is None:
        expected = (
            "a reference: ${env:NAME}, ${file:PATH}, ${file:PATH:KEY} or ${dir:PATH:NAME};"
            " passwords are not allowed in ACL files"
        )
        raise wrong(password, expected, "password")
    name = text_of(values.member(values.text, words, "name"))
    if _USER_NAME.fullmatch(name) is None:
        raise FormatError(f"name: found {short(name)}; allowed: ASCII characters, for a SCRAM user")
    mechanisms = words["mechanism"]
    # Without any, an owner would lose those that it has.
    for mechanism in mechanisms if isinstance(mechanisms, list) and mechanisms else [mechanisms]:
        # A list or a mapping has no hash.
        if mechanism not in tuple(DIGESTS):
            raise FormatError(
                f"mechanism: found {short(mechanism)}; allowed: {', '.join(DIGESTS)}",
                path=("mechanism",),
            )
        yield Credential(
            name, mechanism, _number(words, "iterations", ITERATIONS_MIN, ITERATIONS_MAX), password
        )


def _quotas(row: object, text_of: TextOf) -> Iterator[Quota]:
    limits = (*CLIENT_QUOTAS, *IP_QUOTAS)
    words = values.record(row, (*QUOTA_CLIENTS, *limits), ())
    names: dict[str, str | None] = {}
    for word, kind in QUOTA_CLIENTS.items():
        if word in words:
            text = text_of(values.member(values.text, words, word))
            names[kind] = None if text == DEFAULT_NAME else text
    if not names or (IP in names and len(names) > 1):
        clients = " and ".join(word for word in QUOTA_CLIENTS if word in words) or "no client"
        raise FormatError(f"found {clients}; expected: user; clientId; user and clientId; or ip")
    allowed = IP_QUOTAS if IP in names else CLIENT_QUOTAS
    named_limits = [word for word in words if word in limits]
    others = [limit for limit in named_limits if limit not in allowed]
    if others or not named_limits:
        what = ", ".join(others) or "no limit"
        raise FormatError(f"found {what}; allowed for {', '.join(names)}: {', '.join(allowed)}")
    for limit in named_limits:
        value = words[limit]
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not 0 < value <= float_info.max:
            raise wrong(value, "a number greater than 0", limit)
        yield Quota(client_of(names), limit, float(value))


def _number(words: Mapping[str, Any], word: str, low: int, high: int) -> int | None:
    if word not in words:
        return None
    return values.member(partial(values.number, low, high), words, word)


_READERS: Final[dict[str, Reader]] = {
    "topics": _topics,
    "users": _credentials,
    "quotas": _quotas,
}


# --- writing


def records_of_entities(entities: Iterable[Entity]) -> dict[str, list[dict[str, Any]]]:
    """Return the sections of entities, as a document has them; those without any are left out."""
    sections: dict[str, dict[object, dict[str, Any]]] = {}
    for entity in entities:
        section, record = record_of_entity(entity)
        # The limits of a client stand in one record, and so they are read.
        key = entity.client if isinstance(entity, Quota) else entity.key
        sections.setdefault(section, {}).setdefault(key, {}).update(record)
    return {word: list(sections[word].values()) for word in SECTIONS if word in sections}


def record_of_entity(entity: Entity) -> tuple[str, dict[str, Any]]:
    """Return the section of an entity, and its record there."""
    if isinstance(entity, Quota):
        value: float = int(entity.value) if entity.value == int(entity.value) else entity.value
        return "quotas", {**_client_record(entity), entity.limit: value}
    if isinstance(entity, Credential):
        record: dict[str, Any] = {"name": entity.user, "mechanism": entity.mechanism}
        record |= {"iterations": entity.iterations} if entity.iterations is not None else {}
        return "users", record | ({"password": entity.password} if entity.password else {})
    values = (entity.name, entity.partitions, entity.replication_factor)
    record = {
        word: value for word, value in zip(TOPIC_WORDS, values, strict=False) if value is not None
    }
    return "topics", record | ({} if entity.configs is None else {"configs": dict(entity.configs)})


def _client_record(quota: Quota) -> dict[str, str]:
    words = {kind: word for word, kind in QUOTA_CLIENTS.items()}
    return {words[kind]: DEFAULT_NAME if name is None else name for kind, name in quota.client}


def entity_of_record(section: str, record: object) -> Entity:
    """Return the entity of a record of ``record_of_entity``; a credential may have no password."""
    has_no_password = section == "users" and isinstance(record, dict) and "password" not in record
    if has_no_password:
        record = {**cast("dict[str, Any]", record), "password": "${env:NONE}"}
    entities = list(_READERS[section](record, lambda text: text))
    if len(entities) != 1:
        raise wrong(record, "a mapping that describes one entity", section)
    [entity] = entities
    if has_no_password and isinstance(entity, Credential):
        return replace(entity, password="")
    return entity

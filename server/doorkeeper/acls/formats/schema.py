"""The JSON schema of files of ACLs; the same as ``schemas/records/acl_set.json``."""

from __future__ import annotations

from typing import Any, Final

from doorkeeper.acls.entities.model import CLIENT_QUOTAS, IP_QUOTAS, ITERATIONS, MECHANISMS
from doorkeeper.acls.formats.built_in_roles import BUILT_IN
from doorkeeper.acls.formats.entities import QUOTA_CLIENTS, QUOTA_OWNERS, REFERENCE, SECTIONS
from doorkeeper.acls.formats.owned_parts import WORDS
from doorkeeper.acls.formats.records import DEFAULTS, NEEDED, VERSION
from doorkeeper.acls.formats.roles import TEMPLATE_WORDS
from doorkeeper.acls.lint import CODES
from doorkeeper.acls.model import AclOperation, ResourceType

_TEXT: Final = {"type": "string", "minLength": 1}
_PATTERN_TYPE: Final = {"enum": ["LITERAL", "PREFIXED"], "default": "LITERAL"}


def schema() -> dict[str, Any]:
    """Return the schema. Readers take words in any case, which it does not."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A set of ACLs",
        "description": "The files of doorkeeper acls, as JSON or YAML.",
        "type": "object",
        "required": ["version"],
        "anyOf": [{"required": [section]} for section in ("acls", "grants", *SECTIONS)],
        "additionalProperties": False,
        "patternProperties": {"^x-": {"description": "Ignored: anchors of YAML stand here."}},
        "properties": {
            "version": {"const": VERSION},
            "place": {
                "type": "string",
                "description": "The address that the ACLs were read from. Readers ignore it.",
            },
            "revision": {
                "type": ["integer", "null"],
                "description": "The revision of the store there; null without one. Readers ignore"
                " it.",
            },
            "owns": {
                "description": "What this file owns: ACLs, users and quotas that it lacks are"
                " removed; topics with --delete-topics only.",
                **_one_or_more(
                    {"oneOf": [{"$ref": "#/$defs/ownedPart"}, {"$ref": "#/$defs/ownedEntities"}]}
                ),
            },
            "vars": {
                "description": "Texts for ${name} in this file.",
                "type": "object",
                "additionalProperties": {"type": "string"},
            },
            "roles": {
                "description": "Roles of this file, by name.",
                "type": "object",
                "additionalProperties": {"$ref": "#/$defs/role"},
            },
            "accept": {
                "description": "Findings of lint that are accepted, up to a day.",
                "type": "array",
                "items": {"$ref": "#/$defs/acceptance"},
            },
            "grants": {"type": "array", "items": {"$ref": "#/$defs/grant"}},
            "acls": {"type": "array", "items": _record()},
            **{word: {"type": "array", "items": {"$ref": f"#/$defs/{word}"}} for word in SECTIONS},
        },
        "$defs": _definitions() | _entities(),
    }


def _definitions() -> dict[str, Any]:
    return {
        "operation": {"enum": [operation.name for operation in AclOperation if operation > 1]},
        "texts": _one_or_more(_TEXT),
        "names": _one_or_more({"oneOf": [_TEXT, {"$ref": "#/$defs/name"}]}),
        "name": {
            "type": "object",
            "required": ["name"],
            "additionalProperties": False,
            "properties": {"name": _TEXT, "patternType": _PATTERN_TYPE},
        },
        "ownedPart": {
            "description": "The ACLs that match each of these words.",
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {word: {"$ref": "#/$defs/texts"} for word in WORDS},
        },
        "acceptance": {
            "type": "object",
            "required": ["code", "reason", "until"],
            "anyOf": [{"required": ["principal"]}, {"required": ["name"]}],
            "additionalProperties": False,
            "properties": {
                "code": {"enum": list(CODES)},
                "reason": _TEXT,
                "until": {"type": "string", "format": "date"},
                "principal": _TEXT,
                "resourceType": _record()["properties"]["resourceType"],
                "name": _TEXT,
            },
        },
        "role": _role(),
        "grant": {
            "type": "object",
            "required": ["role", "principal"],
            "properties": {
                "role": _TEXT,
                "principal": {"$ref": "#/$defs/texts"},
                "host": {"$ref": "#/$defs/texts"},
                "patternType": _PATTERN_TYPE,
            },
            "allOf": [_built_in(name) for name in BUILT_IN],
        },
    }


def _entities() -> dict[str, Any]:
    """Return the definitions of topics, users and quotas, and of the part of them that is owned."""
    names = {"$ref": "#/$defs/names"}
    owners = dict.fromkeys(QUOTA_OWNERS, names)
    rate = {"type": "number", "exclusiveMinimum": 0}
    clients = dict.fromkeys(QUOTA_CLIENTS, _TEXT)
    return {
        "ownedEntities": _mapping(
            {"topics": names, "users": names, "quotas": {**_mapping(owners), "minProperties": 1}}
        )
        | {"minProperties": 1},
        "topics": _mapping(
            {
                "name": {"type": "string", "pattern": "^[a-zA-Z0-9._-]{1,249}$"},
                "partitions": {"type": "integer", "minimum": 1},
                "replicationFactor": {"type": "integer", "minimum": 1},
                "configs": {
                    "description": "The settings of the topic; without it they are left alone.",
                    "type": "object",
                    "additionalProperties": {"type": ["string", "number", "boolean"]},
                },
            },
            "name",
        ),
        "users": _mapping(
            {
                "name": _TEXT,
                "mechanism": _one_or_more({"enum": list(MECHANISMS)}),
                "iterations": {
                    "type": "integer",
                    "minimum": ITERATIONS[0],
                    "maximum": ITERATIONS[1],
                },
                "password": {
                    "description": "A reference to the password, which stands elsewhere.",
                    "type": "string",
                    "pattern": f"^{REFERENCE}$",
                },
            },
            "name",
            "mechanism",
            "password",
        ),
        "quotas": {
            **_mapping(clients | dict.fromkeys((*CLIENT_QUOTAS, *IP_QUOTAS), rate)),
            "anyOf": [{"required": [word]} for word in QUOTA_CLIENTS],
            "minProperties": 2,
        },
    }


def _mapping(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "additionalProperties": False,
        "properties": properties,
    }


def _one_or_more(item: dict[str, Any]) -> dict[str, Any]:
    return {"oneOf": [item, {"type": "array", "minItems": 1, "items": item}]}


def _record() -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(NEEDED),
        "additionalProperties": False,
        "properties": {
            "resourceType": {"enum": [kind.name for kind in ResourceType if kind > 1]},
            "name": _TEXT,
            "patternType": _PATTERN_TYPE,
            "principal": {"type": "string"},
            "host": {**_TEXT, "default": DEFAULTS["host"]},
            "operation": _one_or_more({"$ref": "#/$defs/operation"}),
            "permissionType": {
                "enum": ["ALLOW", "DENY"],
                "default": DEFAULTS["permissionType"],
            },
        },
    }


def _role() -> dict[str, Any]:
    record = _record()
    names = {"type": "array", "items": _TEXT}
    template = {
        **record,
        "required": ["resourceType", "name", "operation"],
        "properties": {word: record["properties"][word] for word in TEMPLATE_WORDS},
    }
    return {
        "type": "object",
        "required": ["acls"],
        "additionalProperties": False,
        "properties": {
            "parameters": names,
            "optional": {
                "type": "object",
                "additionalProperties": {"type": ["string", "null"]},
            },
            "acls": {"type": "array", "items": template},
        },
    }


def _built_in(name: str) -> dict[str, Any]:
    role = BUILT_IN[name]
    return {
        "if": {"properties": {"role": {"const": name}}},
        "then": {
            "required": list(role.required),
            "properties": {parameter: {"$ref": "#/$defs/names"} for parameter in role.parameters},
        },
    }

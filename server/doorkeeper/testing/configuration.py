"""From what a test asks for to the keys of a server and the state that it begins with."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from doorkeeper.testing.given_acls import bindings_of
from doorkeeper.testing.given_users import users_of
from doorkeeper.testing.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterable

    from doorkeeper.acl.model import AclBinding
    from doorkeeper.kinds.change import Change
    from doorkeeper.kinds.declared import StoredCredential, StoredTopic
    from doorkeeper.testing.options import Groups, Topics

T = TypeVar("T")

LISTENERS: Final = {
    "PLAINTEXT": "PLAINTEXT",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SSL": "SSL",
    "SASL_SSL": "SASL_SSL",
    "MTLS": "SSL",
}
"""The listeners that a server may have, and their protocols; MTLS asks for a certificate."""

CONTROL: Final = "TESTING"
"""The listener of a process on which the test asks what it holds."""

MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
ADMIN: Final = "admin"
ADMIN_PASSWORD: Final = "admin-secret"  # noqa: S105  known to every test

_ADMINISTRATORS = {
    "PLAINTEXT": "User:ANONYMOUS",
    "SSL": "User:ANONYMOUS",
    "SASL_PLAINTEXT": f"User:{ADMIN}",
    "SASL_SSL": f"User:{ADMIN}",
    "MTLS": f"User:CN={ADMIN}",
}
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_SCRAM_ITERATIONS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What was asked for, complete and checked."""

    users: Mapping[str, str] = field(repr=False)
    bindings: tuple[AclBinding, ...]
    super_users: tuple[str, ...]
    allow_everyone: bool
    topics: tuple[Mapping[str, Any], ...]
    groups: tuple[Mapping[str, Any], ...]
    catalog: Path | None
    listeners: tuple[str, ...]
    mechanisms: tuple[str, ...]
    properties: Mapping[str, str] = field(repr=False)

    @property
    def authenticates(self) -> bool:
        """Say whether a listener has SASL."""
        return any(name.startswith("SASL") for name in self.listeners)

    @property
    def encrypts(self) -> bool:
        """Say whether a listener has TLS."""
        return any(LISTENERS[name].endswith("SSL") for name in self.listeners)


def configuration_of(options: Options) -> Configuration:
    """Complete what a test asks for.

    Raises:
        ValueError: a listener or mechanism that there is not; a record or file of ACLs that is
            wrong; users without a listener where they could log in; topics beside a catalog;
            a text where several are expected.
        TypeError: an option that there is not.

    """
    unknown = sorted(options.keys() - Options.__annotations__.keys())
    if unknown:
        allowed = ", ".join(Options.__annotations__)
        raise TypeError(f"unknown option: {', '.join(unknown)}; allowed: {allowed}")
    users = users_of(options.get("users", {}))
    usual = ("SASL_PLAINTEXT",) if users else ("PLAINTEXT",)
    listeners = _out_of(LISTENERS, options.get("listeners", usual), "listener")
    mechanisms = _out_of(MECHANISMS, options.get("mechanisms", MECHANISMS), "mechanism")
    administrators = dict.fromkeys(_ADMINISTRATORS[name] for name in listeners)
    catalog = options.get("catalog")
    if catalog is not None and ("topics" in options or "groups" in options):
        raise ValueError("found a catalog beside topics or groups; allowed: one of them")
    made = Configuration(
        users={ADMIN: ADMIN_PASSWORD, **users},
        bindings=tuple(bindings_of(options.get("acls", ()))),
        super_users=_several(options.get("super_users", administrators), "super_users"),
        allow_everyone=options.get("allow_everyone", False),
        topics=_entries(options.get("topics", ()), "topics", "name", "partitions"),
        groups=_entries(options.get("groups", ()), "groups", "id", ""),
        catalog=None if catalog is None else Path(catalog),
        listeners=listeners,
        mechanisms=mechanisms,
        properties=dict(options.get("properties", {})),
    )
    if users and not made.authenticates:
        found = ", ".join(listeners)
        raise ValueError(f"users who cannot log in: found only {found}; needed is one with SASL")
    return made


def keys_of(
    made: Configuration, *, tls: Mapping[str, str], catalog: Path | None = None
) -> dict[str, str]:
    """Return the keys of server.properties; those of the test come last.

    ``tls`` are the keys of the stores, empty where no listener encrypts.
    """
    keys = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in made.listeners),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in LISTENERS.items()
        ),
        "inter.broker.listener.name": made.listeners[0],
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": ";".join(made.super_users),
        "allow.everyone.if.no.acl.found": str(made.allow_everyone).lower(),
        # What is wrong shall be known at once, and the end shall wait for nobody.
        "connection.failed.authentication.delay.ms": "0",
        "doorkeeper.shutdown.drain.ms": "200",
        **tls,
    }
    if made.authenticates:
        keys["sasl.enabled.mechanisms"] = ",".join(made.mechanisms)
        keys["sasl.mechanism.inter.broker.protocol"] = made.mechanisms[0]
    for name in made.listeners:
        prefix = f"listener.name.{name.lower()}"
        if name.startswith("SASL"):
            for mechanism in made.mechanisms:
                keys[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = _jaas(made, mechanism)
        if LISTENERS[name].endswith("SSL"):
            keys[f"{prefix}.ssl.client.auth"] = "required" if name == "MTLS" else "none"
    if catalog is not None:
        keys["doorkeeper.catalog.file"] = str(catalog)
    return {**keys, **made.properties}


def initial_change(made: Configuration, credentials: Iterable[StoredCredential]) -> Change:
    """Return the change that makes an empty store the one that a server begins with."""
    from doorkeeper.authorizer.plans import BindingIds  # noqa: PLC0415
    from doorkeeper.kinds.acls import StoredBinding  # noqa: PLC0415
    from doorkeeper.kinds.change import edit  # noqa: PLC0415
    from doorkeeper.kinds.declared import ACL, CREDENTIAL, TOPIC  # noqa: PLC0415

    new_id = BindingIds()
    bindings = [StoredBinding(new_id(), each) for each in dict.fromkeys(made.bindings)]
    return {
        **edit(ACL, set=bindings),
        **edit(TOPIC, set=_stored_topics(made)),
        **edit(CREDENTIAL, set=credentials),
    }


def credentials_of(made: Configuration) -> list[StoredCredential]:
    """Return the SCRAM credentials of all users: a few milliseconds for each of them."""
    if not made.authenticates:
        return []
    from doorkeeper.authn.credentials import DIGESTS, credential_of  # noqa: PLC0415
    from doorkeeper.kinds.declared import StoredCredential  # noqa: PLC0415

    return [
        StoredCredential(
            user,
            mechanism,
            *credential_of(mechanism, password, _SCRAM_ITERATIONS, os.urandom(16)),
        )
        for user, password in made.users.items()
        for mechanism in made.mechanisms
        if mechanism in DIGESTS
    ]


def _stored_topics(made: Configuration) -> list[StoredTopic]:
    if not made.topics:
        return []
    from doorkeeper.catalog.loading import parsed  # noqa: PLC0415  it imports YAML
    from doorkeeper.kinds.declared import StoredTopic  # noqa: PLC0415

    catalog = parsed({"topics": made.topics}, "topics of the test")
    return [
        StoredTopic(
            each.name, os.urandom(16), each.partitions, each.replication_factor, each.configs
        )
        for each in catalog.topics
    ]


def _jaas(made: Configuration, mechanism: str) -> str:
    if mechanism != "PLAIN":
        return f"{_SCRAM_MODULE} required;"
    words = (f"{_word(f'user_{user}')}={_quoted(p)}" for user, p in made.users.items())
    return f"{_PLAIN_MODULE} required {' '.join(words)};"


def _word(text: str) -> str:
    return text if re.fullmatch("[A-Za-z0-9_$-]+", text) else _quoted(text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _out_of(allowed: Iterable[str], given: Iterable[str], what: str) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else tuple(given)
    for each in found:
        if each not in allowed:
            raise ValueError(f"{what}: found {each!r}; allowed: {', '.join(allowed)}")
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{what}s: found {', '.join(found)!r}; allowed: one or more, each once")
    return found


def _entries(
    given: Topics | Groups, what: str, name: str, number: str
) -> tuple[Mapping[str, Any], ...]:
    """Return entries of a catalog; ``number`` is the field that a bare number stands for."""
    if isinstance(given, Mapping):
        return tuple(
            {name: key, **(value if isinstance(value, Mapping) else {number: value})}
            for key, value in given.items()
        )
    return tuple(
        each if isinstance(each, Mapping) else {name: each} for each in _several(given, what)
    )


def _several(given: Iterable[T], what: str) -> tuple[T, ...]:
    """Return what is given; a text alone is one of them, and its letters are none."""
    if isinstance(given, str):
        raise ValueError(f"{what}: found {given!r}; expected is a list, as [{given!r}]")  # noqa: TRY004  as all options
    return tuple(given)

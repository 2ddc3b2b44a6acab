"""Who can log in to a test server: what is said of anybody else holds for no client.

users={"a": "pw"}     User:admin, User:a; User:ANONYMOUS only where a listener has no login
listeners=["MTLS"]    User:CN=name, for any name
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final

from doorkeeper.acls.model import ANONYMOUS, WILDCARD_PRINCIPAL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from doorkeeper.testing.configuration import Configuration

_MAPPED: Final = ("principal", "jaas", "oauthbearer", "kerberos", "sasl.enabled", "listeners")
"""Parts of keys by which a test has principals of its own."""

_OPTION: Final = "if this is intended, add it to principals=[...]"


class WithoutEffect(UserWarning):
    """A setting or a statement of a test is about a principal that no client has."""


def stranger(config: Configuration, principal: str, users: Collection[str] = ()) -> str | None:
    """Return why no client has a principal, or None if one may have it, or it is not known.

    ``users`` are further ones, which a client created.
    """
    if principal in (*config.principals, WILDCARD_PRINCIPAL):
        return None
    if any(part in key.lower() for key in config.properties for part in _MAPPED):
        return None
    kind, _, name = principal.partition(":")
    # Any other type may come from groups.
    if kind != "User":
        return (
            (f"the principal type is case-sensitive: User, not {kind}")
            if kind.lower() == "user"
            else None
        )
    known = [*_known(config), *(f"User:{name}" for name in users)]
    if principal in known or (name.startswith("CN=") and _ANY_CERTIFICATE in known):
        return None
    return f"clients of {', '.join(config.listeners)} are {', '.join(known)}"


_ANY_CERTIFICATE: Final = "User:CN=NAME"


def _known(config: Configuration) -> Iterator[str]:
    if config.authenticates:
        yield from (f"User:{name}" for name in config.users)
    if "MTLS" in config.listeners:
        yield _ANY_CERTIFICATE
    if not {"PLAINTEXT", "SSL"}.isdisjoint(config.listeners):
        yield str(ANONYMOUS)


def strangers_of(config: Configuration) -> Iterator[str]:
    """Yield a sentence for each principal of the settings that no client has.

    Without users, ACLs are mostly there to ask about.
    """
    settings = {"super_users": config.super_users}
    if config.has_users:
        settings["acls"] = tuple({binding.entry.principal: None for binding in config.bindings})
    for option, principals in settings.items():
        for principal in principals:
            if why := stranger(config, principal):
                yield f"{option}: no client can be {principal}: {why}; {_OPTION}"


def warn_of_stranger(config: Configuration, principal: str, users: Collection[str]) -> None:
    """Warn where a statement is about a principal that no client has; see ``stranger``."""
    is_typing_error = principal.partition(":")[0] != "User"
    if (config.has_users or is_typing_error) and (why := stranger(config, principal, users)):
        text = f"no client can be {principal}, so nothing would be tested: {why}; {_OPTION}"
        warnings.warn(text, WithoutEffect, stacklevel=4)

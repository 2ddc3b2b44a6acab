"""Kerberos on this machine: its configuration, the default realm, the keytab.

The library reads its configuration for each login from the file that ``KRB5_CONFIG`` in the
environment names. ``doorkeeper.kerberos.config.file`` sets that for the whole process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from doorkeeper.base.values import trim
from doorkeeper.server.config.keys import KERBEROS_CONFIG_FILE
from doorkeeper.server.config.sasl_keys import SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES
from doorkeeper.server.security.kerberos_rules import ShortNamer

VARIABLE: Final = "KRB5_CONFIG"
DEFAULT_CONFIG: Final = "/etc/krb5.conf"

INSTALL: Final = "pip install 'doorkeeper[kerberos]', and Debian's package libgssapi-krb5-2"


def bindings() -> ModuleType:
    """Return the package gssapi, imported on first use: few servers need it."""
    try:
        return import_module("gssapi")
    except (ImportError, OSError) as error:
        raise ValueError(
            f"sasl.enabled.mechanisms: GSSAPI requires the package gssapi ({INSTALL}): {error}"
        ) from None


def use_configuration(originals: Mapping[str, str]) -> None:
    """Point the library to the configured file, and check that it is readable."""
    named = originals.get(KERBEROS_CONFIG_FILE.name, "").strip()
    if named:
        problem = unreadable(Path(named))
        if problem:
            raise ValueError(f"{KERBEROS_CONFIG_FILE}: {named}: {problem}")
        # setenv is not thread-safe, and threads of the library may be reading the environment.
        if os.environ.get(VARIABLE) != named:
            os.environ[VARIABLE] = named
        return
    files = [file for file in os.environ.get(VARIABLE, DEFAULT_CONFIG).split(":") if file]
    problems = {file: unreadable(Path(file)) for file in files}
    # As in the library, some files of a list may be missing.
    if not any(problem is None for problem in problems.values()):
        causes = "; ".join(f"{file}: {problem}" for file, problem in problems.items())
        origin = f"the variable {VARIABLE}" if VARIABLE in os.environ else "the default"
        raise ValueError(
            f"{KERBEROS_CONFIG_FILE}: not set, and {origin} is not a valid Kerberos configuration:"
            f" {causes or 'no file'}"
        )


def unreadable(file: Path) -> str | None:
    """Return why a file cannot be read, or None."""
    try:
        with file.open("rb") as opened:
            opened.read(1)
    except OSError as error:
        return error.strerror or "cannot be read"
    return None


def default_realm() -> str:
    """Return the realm of names without one, empty without a default realm, as in Kafka."""
    gssapi = bindings()
    try:
        # The library has no call for the realm: canonicalizing a name without one appends it.
        name = gssapi.Name("name", gssapi.NameType.user).canonicalize(gssapi.MechType.kerberos)
    except gssapi.exceptions.GSSError:
        return ""
    return bytes(name).decode("utf-8", "replace").partition("@")[2]


def short_namer(configs: Mapping[str, str]) -> ShortNamer:
    """Return the configured mapping from Kerberos names to user names, for this machine's realm."""
    use_configuration(configs)
    return short_namer_for(default_realm(), configs)


def short_namer_for(realm: str, configs: Mapping[str, str]) -> ShortNamer:
    """Return the configured mapping of a server whose default realm is known.

    Raises:
        ValueError: a rule is malformed; the text begins with the key.
    """
    key = SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES
    text = trim(configs.get(key.name, key.default or ""))
    rules = [trim(rule) for rule in text.split(",")] if text else []
    try:
        return ShortNamer(realm, rules)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from error


def acceptor(keytab: Path, principal: str) -> object:
    """Return the library's credentials that accept tickets for a principal.

    The library reads the keytab at each login, so new keys are effective at once.
    """
    problem = unreadable(keytab)
    if problem:
        raise ValueError(f"keyTab {keytab}: {problem}")
    gssapi = bindings()
    try:
        return gssapi.Credentials(
            name=gssapi.Name(principal, gssapi.NameType.kerberos_principal),
            usage="accept",
            mechs=[gssapi.MechType.kerberos],
            store={"keytab": f"FILE:{keytab}"},
        )
    except gssapi.exceptions.GSSError as error:
        raise ValueError(
            f"keyTab {keytab}: no key of the principal {principal}: {minor_text(error)}"
        ) from None


_NO_CAUSES: Final = frozenset({"Success", "Unknown error"})
"""What the library says where the mechanism has no status, as for a malformed token."""


def minor_text(error: Exception) -> str:
    """Return the library's error text in one line, the mechanism's status first."""
    status = getattr(error, "get_all_statuses", None)
    if status is None:
        return " ".join(str(error).split())
    texts = [*status(error.min_code, False), *status(error.maj_code, True)]  # type: ignore[attr-defined]
    texts = [text for text in texts if text not in _NO_CAUSES]
    return " ".join(str(texts[0] if texts else error).split())

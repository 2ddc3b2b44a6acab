"""What Kerberos needs of the machine: its configuration, the default realm, a keytab.

The library reads its configuration anew for each login, from the file that ``KRB5_CONFIG`` names in
the environment. ``doorkeeper.kerberos.config.file`` sets that for the whole process.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from doorkeeper.authn.kerberos_rules import ShortNamer

if TYPE_CHECKING:
    from collections.abc import Mapping

RULES_KEY: Final = "sasl.kerberos.principal.to.local.rules"
CONFIG_KEY: Final = "doorkeeper.kerberos.config.file"
VARIABLE: Final = "KRB5_CONFIG"
DEFAULT_CONFIG: Final = "/etc/krb5.conf"

INSTALL: Final = "pip install 'doorkeeper[kerberos]', and Debian's package libgssapi-krb5-2"


def bindings() -> Any:  # noqa: ANN401  a module
    """Return the package gssapi, imported when first needed: few servers need it.

    Raises:
        ValueError: it, or the library below it, is not installed.

    """
    try:
        import gssapi  # noqa: PLC0415
    except (ImportError, OSError) as error:
        raise ValueError(
            f"sasl.enabled.mechanisms: GSSAPI needs the package gssapi ({INSTALL}): {error}"
        ) from None
    return gssapi


def use_configuration(originals: Mapping[str, str]) -> None:
    """Let the library read the configuration that the key names, and see that there is one.

    Raises:
        ValueError: there is none, or it cannot be read; the text begins with the key.

    """
    named = originals.get(CONFIG_KEY, "").strip()
    if named:
        problem = unreadable(Path(named))
        if problem:
            raise ValueError(f"{CONFIG_KEY}: {named}: {problem}")
        # Threads of the library may be reading it: it is not written without need.
        if os.environ.get(VARIABLE) != named:
            os.environ[VARIABLE] = named
        return
    files = [file for file in os.environ.get(VARIABLE, DEFAULT_CONFIG).split(":") if file]
    problems = {file: unreadable(Path(file)) for file in files}
    # As the library does: of several files some may be missing.
    if not any(problem is None for problem in problems.values()):
        said = "; ".join(f"{file}: {problem}" for file, problem in problems.items())
        where = f"the variable {VARIABLE}" if VARIABLE in os.environ else "the default"
        raise ValueError(
            f"{CONFIG_KEY}: not given, and {where} gives no configuration of Kerberos:"
            f" {said or 'no file'}"
        )


def unreadable(file: Path) -> str | None:
    """Return what is wrong with a file, None where it can be read."""
    try:
        with file.open("rb") as opened:
            opened.read(1)
    except OSError as error:
        return error.strerror or "cannot be read"
    return None


def default_realm() -> str:
    """Return the realm of names without one, empty where there is none, as Kafka has it."""
    gssapi = bindings()
    try:
        name = gssapi.Name("name", gssapi.NameType.user).canonicalize(gssapi.MechType.kerberos)
    except gssapi.exceptions.GSSError:
        return ""
    return bytes(name).decode("utf-8", "replace").partition("@")[2]


def short_namer(configs: Mapping[str, str]) -> ShortNamer:
    """Return the rules that make users' names of Kerberos names, for the realm of this machine.

    Raises:
        ValueError: a rule is not well-formed; the text begins with the key.

    """
    use_configuration(configs)
    text = configs.get(RULES_KEY, "DEFAULT").strip()
    rules = [rule.strip() for rule in text.split(",")] if text else []
    realm = default_realm()
    try:
        return ShortNamer(realm, rules)
    except ValueError as error:
        raise ValueError(f"{RULES_KEY}: {error}") from error


def acceptor(keytab: Path, principal: str) -> Any:  # noqa: ANN401  the binding's credentials
    """Return what accepts logins for a principal by its keys in a keytab.

    The library looks into the file at each login, so that a new key counts at once.

    Raises:
        ValueError: the keytab cannot be read, or has no key of the principal; says so in a line.

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


def minor_text(error: Exception) -> str:
    """Return what the library says of an error, in one line."""
    status = getattr(error, "get_all_statuses", None)
    if status is None:
        return " ".join(str(error).split())
    found = [*status(error.min_code, False), *status(error.maj_code, True)]  # type: ignore[attr-defined]
    return " ".join(str(found[0] if found else error).split())

"""Profiles: ``--profile prod`` is a live cluster and a login, from a file of the user.

``prod.properties`` in ``~/.config/doorkeeper`` is a Java client's properties file that names the
cluster too, so that Kafka's tools read it as well:

    bootstrap.servers=kafka-1:9093,kafka-2:9093
    security.protocol=SASL_SSL
    ...

A file that other users may change, or that has a secret and others may read, is refused.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem
from msgspec import Struct

from doorkeeper.cli.repositories.addresses import Address, AddressKind
from doorkeeper.cli.terminal import fail

Command = TypeVar("Command", bound="Callable[..., Any]")

_SUFFIX: Final = ".properties"
_NAME: Final = re.compile(r"\w[\w.-]*")
_BOOTSTRAP: Final = {
    "bootstrap.servers": AddressKind.BROKERS,
    "bootstrap.controllers": AddressKind.CONTROLLERS,
}
_SECRET: Final = re.compile(r"password|passphrase|secret|keystore\.key$", re.IGNORECASE)
# A variable of a config provider; its value is elsewhere.
_VARIABLE: Final = re.compile(r"\$\{\w+:[^}]*\}")
_JAAS: Final = "sasl.jaas.config"


class Profile(Struct, frozen=True):
    """The address of a live cluster, and the file with the properties of its clients."""

    address: Address
    path: Path


def profile_option(command: Command) -> Command:
    """Add ``--profile``, whose value is a ``Profile``, or None."""
    return click.option(
        "--profile",
        metavar="NAME",
        callback=_profile,
        shell_complete=_complete,
        help="Shorthand for the address and the client properties in"
        " ~/.config/doorkeeper/NAME.properties, which has bootstrap.servers too.",
    )(command)


def folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the user's profiles."""
    # An empty variable, or a relative path in it, is as none.
    home = Path(environment.get("XDG_CONFIG_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".config") / "doorkeeper"


def load_profile(name: str, environment: Mapping[str, str]) -> Profile:
    """Return a profile of the user; an error in its file ends the process.

    Raises:
        click.BadParameter: there is no profile of this name.
    """
    from doorkeeper.base.properties import read

    profiles = folder(environment)
    path = profiles / f"{name}{_SUFFIX}"
    if _NAME.fullmatch(name) is None or not path.exists():
        names = ", ".join(_names(environment)) or "none"
        raise click.BadParameter(f"found {name!r}; profiles in {profiles}: {names}")
    try:
        values = {entry.key: entry.value.strip() for entry in read(path)}
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        fail([f"{path}: {error.strerror}"])
    _check_mode(path, mode, values)
    addresses = [Address(kind, values[key]) for key, kind in _BOOTSTRAP.items() if values.get(key)]
    if len(addresses) != 1:
        has = "both" if addresses else "neither"
        fail([f"{path}: expected is one of {' and '.join(_BOOTSTRAP)}; it has {has}"])
    return Profile(addresses[0], path)


def _check_mode(path: Path, mode: int, values: Mapping[str, str]) -> None:
    # They would choose the server that gets the password.
    if mode & 0o022:
        fail([f"{path}: other users may change it, its mode is {mode:04o}; chmod go-w {path}"])
    key = _secret_key(values)
    if key is not None and mode & 0o044:
        has = f"{key} has a secret, and other users may read it, its mode is {mode:04o}"
        fail([f"{path}: {has}; chmod 600 {path}, or take it from elsewhere: ${{env:NAME}}"])


def _secret_key(values: Mapping[str, str]) -> str | None:
    """Return the first key whose value has a secret; None if all are variables."""
    for key, value in values.items():
        if key == _JAAS:
            if _has_secret(value):
                return key
        elif _is_secret(key, value):
            return key
    return None


def _has_secret(login: str) -> bool:
    from doorkeeper.base.jaas import JaasError, parse

    try:
        modules = parse(login)
    except JaasError:
        # Whatever the text is, a password may be in it.
        return True
    return any(_is_secret(*option) for module in modules for option in module.options.items())


def _is_secret(name: str, value: str) -> bool:
    return bool(value and _SECRET.search(name)) and _VARIABLE.fullmatch(value) is None


def _names(environment: Mapping[str, str]) -> list[str]:
    return sorted(file.stem for file in folder(environment).glob(f"*{_SUFFIX}"))


def _profile(_context: click.Context, _parameter: click.Parameter, name: str | None) -> object:
    return None if name is None else load_profile(name, os.environ)


def _complete(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [CompletionItem(name) for name in _names(os.environ) if name.startswith(incomplete)]

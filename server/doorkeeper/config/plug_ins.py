"""Finds what a configuration key names: a class of Python.

package.module.Class, package.module:Class    by its path
name                                          an entry point of the key's group

Whatever a plug-in does while it is imported, the operator gets one line.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_JAVA_NAME = re.compile(r"(com|dev|eu|io|kafka|net|org)(\.\w+)+|[\w.]+\$\w+")
"""How names of Java classes begin, by custom, or hold a nested class."""

CAUSE_CHARACTERS_MAX = 200


class UnusableClass(ValueError):
    """The configuration names something that cannot be used; the text says key, name and why."""


def named(key: str, name: str, group: str, kafka_names: Iterable[str]) -> object:
    """Return what the value of a key names; ``kafka_names`` are those of Java that it may be.

    Raises:
        UnusableClass: there is no such thing, or it cannot be imported.

    """
    if "." in name or ":" in name:
        return _from_path(key, name, kafka_names)
    return _from_entry_point(key, name, group)


def one_line(error: BaseException) -> str:
    """Return class and text of an exception in one line of bounded length."""
    text = " ".join(str(error).split())[:CAUSE_CHARACTERS_MAX]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def missing_methods(abstract: type) -> str:
    """Return the names of the methods that an abstract class leaves to others."""
    names: frozenset[str] = getattr(abstract, "__abstractmethods__", frozenset())
    return ", ".join(sorted(names))


def _from_path(key: str, name: str, kafka_names: Iterable[str]) -> object:
    module_name, colon, class_name = name.partition(":")
    if not colon:
        module_name, _, class_name = name.rpartition(".")
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing == name.partition(".")[0] and _JAVA_NAME.fullmatch(name):
            raise UnusableClass(
                f"{key}={name}: found the name of a Java class; expected is a Python class:"
                " package.module.Class, an entry point, or one of Kafka's own names"
                f" ({', '.join(sorted(kafka_names))})"
            ) from error
        raise UnusableClass(
            f"{key}={name}: cannot import {module_name}: {type(error).__name__}:"
            f" {' '.join(str(error).split())}; expected is a Python class"
        ) from error
    try:
        return getattr(module, class_name)
    except AttributeError:
        raise UnusableClass(f"{key}={name}: the module {module_name} has no {class_name}") from None


def _from_entry_point(key: str, name: str, group: str) -> object:
    # It imports mail and archives: a tenth of the start, where no entry point is named.
    from importlib.metadata import entry_points  # noqa: PLC0415

    known = {each.name: each for each in entry_points(group=group)}
    if name not in known:
        raise UnusableClass(
            f"{key}={name}: found no entry point of this name in {group}; allowed:"
            f" {', '.join(sorted(known)) or 'none is installed'}, or package.module.Class"
        )
    try:
        return known[name].load()
    except (Exception, SystemExit) as error:
        # As above.
        raise UnusableClass(
            f"{key}={name}: cannot load {known[name].value}: {type(error).__name__}:"
            f" {' '.join(str(error).split())}"
        ) from error

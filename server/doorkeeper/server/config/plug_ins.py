"""Import of the Python class that a key names.

package.module.Class, package.module:Class    by its path
name                                          an entry point of the key's group

Any failure of a plug-in during its import becomes an error of one line.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Container, Iterable, Mapping
from importlib import import_module

# Java class names: common first packages, or a nested class.
_JAVA_NAME = re.compile(r"(com|dev|eu|io|kafka|net|org)(\.\w+)+|[\w.]+\$\w+")

# The text of a plug-in's error has no other bound.
CAUSE_CHARACTERS_MAX = 200


class UnusableClass(ValueError):
    """The class cannot be used; the text names key, value and reason."""


def import_named(key: str, name: str, group: str, kafka_names: Iterable[str]) -> object:
    """Return the object that a key names; ``kafka_names`` are the Java names that it may have.

    Raises:
        UnusableClass: it does not exist, or cannot be imported.

    """
    if "." in name or ":" in name:
        return _from_path(key, name, kafka_names)
    return _from_entry_point(key, name, group)


def one_line(error: BaseException) -> str:
    """Return the class and text of an exception in one line of bounded length."""
    text = " ".join(str(error).split())[:CAUSE_CHARACTERS_MAX]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def missing_methods(abstract: type) -> str:
    """Return the names of the abstract methods of a class."""
    names: frozenset[str] = getattr(abstract, "__abstractmethods__", frozenset())
    return ", ".join(sorted(names))


def wrong_methods(
    plugin: type, calls: Mapping[str, int], coroutines: Container[str] = ()
) -> list[str]:
    """Return the faults of methods that are called with so many arguments.

    Only ``coroutines`` are awaited. A coroutine that is not awaited does nothing, and a wrong
    number of parameters fails at the first call: both are found before.
    """
    problems = []
    for name, arguments in calls.items():
        method = getattr(plugin, name, None)
        if method is None:
            continue
        is_coroutine = inspect.iscoroutinefunction(method) and name not in coroutines
        if is_coroutine or inspect.isasyncgenfunction(method):
            problems.append(f"{name} is async def; expected is def, because it is not awaited")
            continue
        owned = isinstance(inspect.getattr_static(plugin, name), (staticmethod, classmethod))
        try:
            signature = inspect.signature(method)
        except ValueError:
            continue  # written in C, perhaps: it cannot be known
        try:
            signature.bind(*[None] * (arguments + (not owned)))
        except TypeError as error:
            number = f"{arguments} argument{'' if arguments == 1 else 's'}"
            expected = number if owned else f"{number} besides self"
            problems.append(f"{name}{signature} is called with {expected}: {error}")
    return problems


def _from_path(key: str, name: str, kafka_names: Iterable[str]) -> object:
    module_name, colon, class_name = name.partition(":")
    if not colon:
        module_name, _, class_name = name.rpartition(".")
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:
        # Only a missing first package suggests Java: a Python module may start with "io" or "org"
        # too.
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing == name.partition(".")[0] and _JAVA_NAME.fullmatch(name):
            allowed = "or an entry point"
            if kafka_names:
                of_kafka = ", ".join(sorted(kafka_names))
                allowed = f"an entry point, or one of Kafka's own names ({of_kafka})"
            raise UnusableClass(
                f"{key}={name}: found the name of a Java class; expected is a Python class:"
                f" package.module.Class, {allowed}"
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
    # It imports the modules of mail and archives: a tenth of the start, needed only here.
    from importlib.metadata import entry_points

    known = {each.name: each for each in entry_points(group=group)}
    if name not in known:
        raise UnusableClass(
            f"{key}={name}: found no entry point of this name in {group}; allowed:"
            f" {', '.join(sorted(known)) or 'none is installed'}, or package.module.Class"
        )
    try:
        return known[name].load()
    except (Exception, SystemExit) as error:
        # As above: a plug-in may fail in any way.
        raise UnusableClass(
            f"{key}={name}: cannot load {known[name].value}: {type(error).__name__}:"
            f" {' '.join(str(error).split())}"
        ) from error

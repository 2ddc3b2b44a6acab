"""Plug-ins: the classes of Python that keys name, and what bounds their calls.

load       imports the class, checks it, makes an object and configures it
SlowCalls  says which calls held up the event loop for too long
closed     closes a plug-in, whatever it raises

    package.module.Class, package.module:Class    a class by its path
    name                                          an entry point of the key's group

Whatever a plug-in raises on the way becomes an error of one line.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
import sys
import time
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct

from doorkeeper.server.config.naming import full_names

T = TypeVar("T")

# Java class names: common first packages, or a nested class.
_JAVA_NAME = re.compile(r"(com|dev|eu|io|kafka|net|org)(\.\w+)+|[\w.]+\$\w+")

# The text of a plug-in's error has no other bound.
CAUSE_CHARACTERS_MAX = 200


class UnusableClass(ValueError):
    """The class cannot be used; the text names key, value and reason."""


class PlugIn(Struct, frozen=True):
    """What a key names: a class of Python.

    ``base`` is what it must be a subclass of, ``calls`` the number of arguments of each method that
    is called, ``coroutines`` those that may be ``async def``. ``kafka_names`` are the Java names
    that the key may have instead.
    """

    key: str
    group: str
    base: type[Any]
    calls: Mapping[str, int] = {}
    coroutines: Container[str] = ()
    kafka_names: Iterable[str] = ()
    allowed: str = "a subclass of doorkeeper.plugins.{}"
    """What the class must be, for the text of errors, with the name of ``base``."""


def configs_of(
    originals: Mapping[str, str], listener_name: str, mechanism: str = ""
) -> dict[str, str]:
    """Return all keys; those of a listener, and of a mechanism on it, without the prefix too.

        listener.name.clients.ldap.url          ldap.url, for everything on the listener CLIENTS
        listener.name.clients.plain.ldap.url    ldap.url, for PLAIN on it: takes precedence

    The prefix is in lower case; with any other spelling a key has no effect.

    Source: ``valuesWithPrefixOverride`` of Kafka's ``AbstractConfig``.
    """
    of_mechanism, of_listener, _ = full_names("", listener_name, mechanism)
    configs = dict(originals)
    for prefix in (of_listener, of_mechanism) if mechanism else (of_listener,):
        for key, value in originals.items():
            if key.startswith(prefix):
                configs[key[len(prefix) :]] = value
    return configs


def class_of(plug_in: PlugIn, name: str) -> type[Any]:
    """Return the class that a key names.

    Raises:
        UnusableClass: it does not exist, cannot be imported, or is not of the kind.
    """
    return checked_class(plug_in, name, imported(plug_in, name))


def imported(plug_in: PlugIn, name: str) -> object:
    """Return the object that a key names."""
    read = _from_path if "." in name or ":" in name else _from_entry_point
    return read(plug_in, name)


def checked_class(plug_in: PlugIn, name: str, value: object) -> type[Any]:
    """Return a class if it is of the kind, has all methods, and they can be called."""
    subject = f"{plug_in.key}={name}"
    if not (isinstance(value, type) and issubclass(value, plug_in.base)):
        allowed = plug_in.allowed.format(plug_in.base.__name__)
        raise UnusableClass(f"{subject}: found {value!r}; allowed: {allowed}")
    if inspect.isabstract(value):
        missing = ", ".join(sorted(getattr(value, "__abstractmethods__", ())))
        raise UnusableClass(f"{subject}: the class lacks the methods {missing}")
    if problems := wrong_methods(value, plug_in.calls, plug_in.coroutines):
        raise UnusableClass(f"{subject}: {'; '.join(problems)}")
    return value


def made(
    make: Callable[[], T],
    configure: Callable[[T], object],
    subject: str,
    close: Callable[[T], object] | None = None,
) -> T:
    """Make and configure a plug-in; ``close`` is called where it refuses its configuration.

    Raises:
        ValueError: it raised; the text begins with the key that is wrong, or with ``subject``.
    """
    plug_in: T | None = None
    try:
        plug_in = make()
        configure(plug_in)
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        if plug_in is not None and close is not None:
            close(plug_in)
        # The contracts: the text of a ValueError begins with the key that is wrong.
        if isinstance(error, ValueError):
            raise ValueError(" ".join(str(error).split())) from error
        raise ValueError(f"{subject}: {one_line(error)}") from error
    return plug_in


class Closes(Protocol):
    """Can be closed."""

    def close(self) -> object: ...


def closed(plug_in: Closes, role: str, log: logging.Logger) -> None:
    """Close a plug-in; what it raises is logged: the rest of the server still closes."""
    try:
        plug_in.close()
    except BaseException:
        log.exception("the %s did not close: %s", role, name_of(plug_in))


def name_of(plug_in: object) -> str:
    """Return the name of a plug-in in logs."""
    return f"{type(plug_in).__module__}.{type(plug_in).__qualname__}"


async def called(call: Callable[[], Awaitable[object]]) -> object:
    """Await what a plug-in returns; it cannot end the process."""
    try:
        return await call()
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"it raised {type(error).__name__}") from error


WARN_EVERY_S: Final = 60.0


class SlowCalls:
    """Counts calls that took longer than a limit, on a clock of monotonic seconds."""

    __slots__ = ("_warned_s", "clock", "count", "limit_s")

    def __init__(self, limit_ms: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self.limit_s = limit_ms / 1000
        self.clock = clock
        self.count = 0
        self._warned_s: dict[str, float] = {}

    def must_log(self, method: str, took_s: float) -> bool:
        """Count a call if it was slow; return whether to log it: once a minute for a method."""
        if took_s <= self.limit_s:
            return False
        self.count += 1
        now_s = self.clock()
        if now_s - self._warned_s.get(method, -WARN_EVERY_S) < WARN_EVERY_S:
            return False
        self._warned_s[method] = now_s
        return True


def one_line(error: BaseException) -> str:
    """Return the class and text of an exception in one line of bounded length."""
    text = " ".join(str(error).split())[:CAUSE_CHARACTERS_MAX]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


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
            problems.append(f"{name} is async def; expected: def")
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


def _from_path(plug_in: PlugIn, name: str) -> object:
    subject = f"{plug_in.key}={name}"
    module_name, colon, class_name = name.partition(":")
    if not colon:
        module_name, _, class_name = name.rpartition(".")
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if _is_java(name, missing):
            allowed = "or an entry point"
            if plug_in.kafka_names:
                of_kafka = ", ".join(sorted(plug_in.kafka_names))
                allowed = f"an entry point, or one of Kafka's own names ({of_kafka})"
            raise UnusableClass(
                f"{subject}: found the name of a Java class; expected: a Python class:"
                f" package.module.Class, {allowed}"
            ) from error
        raise UnusableClass(
            f"{subject}: cannot import {module_name}: {type(error).__name__}:"
            f" {' '.join(str(error).split())}; expected: a Python class"
        ) from error
    try:
        return getattr(module, class_name)
    except AttributeError:
        raise UnusableClass(f"{subject}: the module {module_name} has no {class_name}") from None


def _is_java(name: str, missing: str | None) -> bool:
    """Return whether a name is that of a Java class; ``missing`` is the module that is not there.

    A Python package may be called io or org too: the first package must be missing, or be a module
    of Python itself, as io is.
    """
    if missing is None or not _JAVA_NAME.fullmatch(name):
        return False
    first, _, more = missing.partition(".")
    return name.partition(".")[0] == first and (not more or first in sys.stdlib_module_names)


def _from_entry_point(plug_in: PlugIn, name: str) -> object:
    # It imports the modules of mail and archives: a tenth of the start, needed only here.
    from importlib.metadata import entry_points

    subject, group = f"{plug_in.key}={name}", plug_in.group
    known = {entry_point.name: entry_point for entry_point in entry_points(group=group)}
    if name not in known:
        raise UnusableClass(
            f"{subject}: found no entry point of this name in {group}; allowed:"
            f" {', '.join(sorted(known)) or 'none is installed'}, or package.module.Class"
        )
    try:
        return known[name].load()
    except (Exception, SystemExit) as error:
        # As above: a plug-in may fail in any way.
        raise UnusableClass(
            f"{subject}: cannot load {known[name].value}: {type(error).__name__}:"
            f" {' '.join(str(error).split())}"
        ) from error

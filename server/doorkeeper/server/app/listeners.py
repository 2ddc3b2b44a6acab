"""The listeners: their limits, mechanisms, TLS contexts and principal builders.

A new configuration is prepared beside the one in use, then used for new connections. Open
connections keep their mechanisms; a mechanism closes with its last connection.
"""

from __future__ import annotations

import asyncio
import re
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.base.tls.settings import TlsSettings
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.config.keys import MAX_CONNECTIONS
from doorkeeper.server.config.listeners import Listener
from doorkeeper.server.config.naming import is_for_plug_ins
from doorkeeper.server.config.sasl import MechanismSettings
from doorkeeper.server.config.sasl_keys import CONNECTIONS_MAX_REAUTH_MS
from doorkeeper.server.net.options import ConnectionSecurity, ListenerSpec
from doorkeeper.server.runtime.logger import Logger
from doorkeeper.server.runtime.threads import beside
from doorkeeper.server.security.contract import (
    AuthenticationContext,
    Mechanism,
    OfferedMechanism,
    PrincipalBuilder,
)
from doorkeeper.server.security.principals import principal_builder_of
from doorkeeper.server.security.provider import Provider, Sources, provider_of

if TYPE_CHECKING:
    from doorkeeper.server.security.tls.listener_tls import ListenerTls

REFRESH_INTERVAL_S: Final = 5.0
"""Interval of checks for changed files, such as renewed certificates."""


_BOUNDS: Final = frozenset({CONNECTIONS_MAX_REAUTH_MS.name, MAX_CONNECTIONS.name})


class MechanismInstance:
    """One mechanism of one listener; exists as long as a connection may use it."""

    __slots__ = ("__weakref__", "provider", "settings")

    def __init__(self, settings: MechanismSettings, provider: Provider) -> None:
        self.settings = settings
        self.provider = provider

    def begin(self, context: AuthenticationContext) -> Mechanism:
        """Return the server side of one authentication."""
        return self.provider.begin(context)


class ListenerSecurity(Struct, frozen=True):
    """Mechanisms, principal builder and TLS of one listener."""

    listener: Listener
    instances: tuple[MechanismInstance, ...]
    builder: PrincipalBuilder
    tls: ListenerTls | None

    @property
    def for_connections(self) -> ConnectionSecurity:
        """Return the part that connections use."""
        mechanisms = None
        if self.listener.authenticates:
            # An instance may be older than the bounds, which do not belong to it.
            mechanisms = {
                settings.name: OfferedMechanism(
                    settings.name, instance.begin, settings[CONNECTIONS_MAX_REAUTH_MS]
                )
                for settings, instance in zip(self.listener.mechanisms, self.instances, strict=True)
            }
        return ConnectionSecurity(
            mechanisms, self.builder, None if self.tls is None else self.tls.context
        )


class ServerSecurity:
    """The security of all listeners. For the event loop's thread."""

    def __init__(self, sources: Sources, logger: Logger) -> None:
        self._sources = sources
        self._log = logger
        self._securities: dict[str, ListenerSecurity] = {}
        self._providers: list[Provider] = []
        """All running providers, including those that only older connections use."""
        self._reported: dict[int, str | None] = {}
        self._refreshing = asyncio.Lock()
        self._tasks: set[asyncio.Future[None]] = set()
        self._on_change: Callable[[str, ConnectionSecurity], None] | None = None

    async def prepare(
        self, listeners: Iterable[Listener], originals: Mapping[str, str]
    ) -> dict[str, ListenerSecurity]:
        """Construct the security of listeners and start its new parts, without using it.

        ``originals`` are all keys as given, for plug-ins.

        Raises:
            StartError: with every problem; the parts that were started are closed.
        """
        securities, providers, problems = await self._construct(
            listeners, originals, lambda provider: provider.start()
        )
        if problems:
            for provider in providers:
                await self._close(provider)
            raise StartError(*problems)
        self._providers += providers
        return securities

    async def check(self, listeners: Iterable[Listener], originals: Mapping[str, str]) -> list[str]:
        """Construct the security of listeners, check its files, and close it again."""
        _, providers, problems = await self._construct(
            listeners, originals, lambda provider: provider.check()
        )
        for provider in providers:
            await self._close(provider)
        return problems

    async def _construct(
        self,
        listeners: Iterable[Listener],
        originals: Mapping[str, str],
        begin: Callable[[Provider], Awaitable[None]],
    ) -> tuple[dict[str, ListenerSecurity], list[Provider], list[str]]:
        """Return the security of listeners, its new parts, which have begun, and the problems."""
        problems: list[str] = []
        providers: list[Provider] = []
        securities = {
            listener.name: security
            for listener in listeners
            if (security := self._build(listener, originals, providers, problems)) is not None
        }
        for provider in providers:
            problems += await _problems(begin(provider))
        # Two listeners with the same wrong key report the same problem.
        return securities, providers, list(dict.fromkeys(problems))

    def use(self, securities: Mapping[str, ListenerSecurity]) -> dict[str, ConnectionSecurity]:
        """Use prepared security; return the part for new connections by listener."""
        self._securities = dict(securities)
        return {name: security.for_connections for name, security in self._securities.items()}

    def check_certificates(self, securities: Mapping[str, ListenerSecurity]) -> None:
        """Check that each new certificate is for the name of the one in use.

        Raises:
            ValueError: one is for another name; the text begins with the key.
        """
        for name, security in securities.items():
            before = self._securities.get(name)
            if before is None or before.tls is None or security.tls is None:
                continue
            if security.tls is not before.tls:
                security.tls.check_follows(before.tls)

    def watch(self, on_change: Callable[[str, ConnectionSecurity], None]) -> None:
        """Start to check files; ``on_change`` gets the new security of a listener."""
        self._on_change = on_change
        self._task(self._watch())

    async def refresh(self) -> None:
        """Use changed files now."""
        async with self._refreshing:
            for watched in self._file_users():
                # In a thread: files may be on a slow disk.
                try:
                    problem = await beside(partial(refresh_files, watched), "doorkeeper-files")
                except RuntimeError as error:
                    # No thread could be started; one can be later.
                    problem = str(error)
                if problem not in (None, self._reported.get(id(watched))):
                    self._log.error(
                        "file not reloaded: the previous one stays in use", problem=problem
                    )
                self._reported[id(watched)] = problem
        for name, security in self._securities.items():
            if security.tls is not None and self._on_change is not None:
                self._on_change(name, security.for_connections)

    async def close(self) -> None:
        """Close all providers, after all connections have ended."""
        # Before the providers: a task may be in the middle of a refresh.
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._securities = {}
        while self._providers:
            await self._close(self._providers.pop())

    async def _close(self, provider: Provider) -> None:
        for problem in await _problems(provider.close()):
            self._log.error("a SASL mechanism could not be closed", problem=problem)

    def _build(
        self,
        listener: Listener,
        originals: Mapping[str, str],
        providers: list[Provider],
        problems: list[str],
    ) -> ListenerSecurity | None:
        """Return the security of a listener from running and new parts; these are not started.

        With problems the result must not be used, or is None.
        """
        before = self._securities.get(listener.name)
        known = () if before is None else before.instances
        running = {instance.settings.name: instance for instance in known}
        instances = []
        for settings in listener.mechanisms:
            instance = running.get(settings.name)
            # An unchanged mechanism stays: a new one would fetch keys and read files again.
            if instance is None or not is_unchanged(instance.settings, settings):
                try:
                    instance = self._room(settings)
                except ValueError as error:
                    problems.append(str(error))
                    continue
                providers.append(instance.provider)
            instances.append(instance)
        tls: ListenerTls | None = None
        try:
            if listener.encrypts:
                tls = self._tls(listener, None if before is None else before.tls)
        except ValueError as error:
            problems.append(str(error))
        try:
            builder = principal_builder_of(
                originals,
                listener.name,
                listener.security_protocol,
                [mechanism.name for mechanism in listener.mechanisms],
            )
        except ValueError as error:
            # It begins with the key: that of this listener, if it has its own.
            key = re.split("[:=]", str(error), maxsplit=1)[0]
            problems.append(listener.given_as.get(key, key) + str(error).removeprefix(key))
            return None
        return ListenerSecurity(listener, tuple(instances), builder, tls)

    def _tls(self, listener: Listener, before: ListenerTls | None) -> ListenerTls:
        """Return the running TLS if its configuration is unchanged, else a new one."""
        settings = tls_settings_of(listener)
        if before is not None and before.settings == settings:
            return before
        # Imported only with TLS.
        from doorkeeper.server.security.tls.listener_tls import ListenerTls

        tls = ListenerTls(settings, self._log)
        for warning in tls.warnings:
            self._log.warning(warning)
        return tls

    def _room(self, settings: MechanismSettings) -> MechanismInstance:
        provider = provider_of(settings, self._sources)
        instance = MechanismInstance(settings, provider)
        loop = asyncio.get_running_loop()
        # Closed when the last connection that uses it has ended.
        leaving = weakref.finalize(instance, self._on_unused, loop, provider)
        leaving.atexit = False
        return instance

    def _on_unused(self, loop: asyncio.AbstractEventLoop, provider: Provider) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._close_unused, provider)

    def _close_unused(self, provider: Provider) -> None:
        if provider in self._providers:
            self._providers.remove(provider)
            self._reported.pop(id(provider), None)
            self._task(self._close(provider))

    def _file_users(self) -> list[Provider | ListenerTls]:
        """Return the parts whose files are checked."""
        all_tls = (security.tls for security in self._securities.values())
        return [
            *(user for user in self._providers if type(user).refresh is not Provider.refresh),
            *(tls for tls in all_tls if tls is not None),
        ]

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(REFRESH_INTERVAL_S)
            if self._file_users():
                await self.refresh()

    def _task(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _problems(work: Awaitable[None]) -> list[str]:
    """Await; return an error as a problem."""
    try:
        await work
    except ValueError as error:
        return [str(error)]
    # The text of an unexpected error may contain a secret.
    except Exception as error:  # one listener's fault is told like others
        return [f"a mechanism fails: {type(error).__name__}"]
    return []


def refresh_files(watched: Provider | ListenerTls) -> str | None:
    """Use changed files; return an unexpected error."""
    try:
        watched.refresh()
    except Exception as error:  # the watch goes on
        return f"{type(watched).__name__}: {type(error).__name__}"
    return None


def is_unchanged(old: MechanismSettings, new: MechanismSettings) -> bool:
    """Return whether a mechanism can stay: bounds of the listener do not belong to it.

    Nor do unknown keys for plug-ins, except those with the listener's prefix.
    """
    before, after = (
        replace(
            settings,
            values={name: text for name, text in settings.values.items() if name not in _BOUNDS},
            given_as={name: key for name, key in settings.given_as.items() if name not in _BOUNDS},
            originals={
                key: text
                for key, text in settings.originals.items()
                if is_for_plug_ins(key, settings.listener_name)
            },
        )
        for settings in (old, new)
    )
    return before == after


def tls_settings_of(listener: Listener) -> TlsSettings:
    return TlsSettings(
        listener_name=listener.name,
        security_protocol=listener.security_protocol,
        values={name: text for name, text in listener.values.items() if "ssl." in name},
        given_as={name: key for name, key in listener.given_as.items() if "ssl." in name},
    )


def options_of(listener: Listener, for_connections: ConnectionSecurity) -> ListenerSpec:
    """Return the options of a listener for the edge."""
    return ListenerSpec(
        name=listener.name,
        security_protocol=listener.security_protocol,
        host=listener.host,
        port=listener.port,
        controller=listener.controller,
        security=for_connections,
        max_connections=listener.max_connections,
    )

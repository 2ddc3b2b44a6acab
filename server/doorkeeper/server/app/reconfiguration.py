"""Use of a new configuration in a running server, for SIGHUP and dynamic values.

First every part that may reject it is asked; then all parts use it in one turn of the event loop,
so that every request sees either the old values or the new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import Struct

from doorkeeper.base.entry import Entry
from doorkeeper.base.errors import AuthorizerFault
from doorkeeper.base.key import Applies
from doorkeeper.server.app.delegation_tokens import DelegationTokens
from doorkeeper.server.app.listeners import ListenerSecurity, ServerSecurity
from doorkeeper.server.app.node import LiveNode
from doorkeeper.server.authorizer.contract import Authorizer, Reconfigurable
from doorkeeper.server.authorizer.standard_keys import RECONFIGURABLE
from doorkeeper.server.config.keys import LOG_LEVELS
from doorkeeper.server.config.loading import resolve
from doorkeeper.server.config.naming import find_key, is_for_plug_ins
from doorkeeper.server.config.plug_ins import name_of
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.net import BindError, Server
from doorkeeper.server.net.limits import limits_of
from doorkeeper.server.net.server import resolved_overrides
from doorkeeper.server.operations.logs.pipeline import Logger, Logs
from doorkeeper.server.runtime.threads import beside


class Usable(Struct, frozen=True):
    """A configuration that all parts accepted.

    ``overrides`` are the connection limits of single addresses, ``security`` that of the listeners.
    """

    settings: Settings
    overrides: Mapping[str, int]
    security: Mapping[str, ListenerSecurity]


class Reconfiguration:
    """The parts of a server that take new values."""

    def __init__(
        self,
        *,
        node: LiveNode,
        authorizer: Authorizer | None,
        edge: Server,
        security: ServerSecurity,
        tokens: DelegationTokens,
        logs: Logs,
    ) -> None:
        """``authorizer`` is the configured one, without its guard; None: no authorizer.

        Only a ``Reconfigurable`` one gets new values.
        """
        self._node = node
        self._authorizer: object = authorizer
        self._name = "" if authorizer is None else name_of(authorizer)
        self._edge = edge
        self._security = security
        self._tokens = tokens
        self._logs = logs
        self._log: Logger = logs.logger("doorkeeper.server")

    @property
    def settings(self) -> Settings:
        return self._node.settings

    def is_reloaded(self) -> Callable[[str], bool]:
        """Return what says of a key whether its new value in the file applies without a restart.

        Raises:
            AuthorizerFault: the authorizer fails to list its reconfigurable keys.
        """
        keys = self._keys()
        # Those of the standard authorizer apply if the authorizer in use supports them.
        others: frozenset[str] = frozenset() if self._authorizer is None else RECONFIGURABLE
        return lambda name: name in keys or (name not in others and is_reloaded(name))

    def _keys(self) -> frozenset[str]:
        """Return the keys that the authorizer takes without a restart."""
        authorizer = self._authorizer
        if not isinstance(authorizer, Reconfigurable):
            return frozenset()
        try:
            return frozenset(authorizer.reconfigurable_configs())
        except (Exception, SystemExit) as error:
            raise AuthorizerFault(self._name, "reconfigurable_configs", error) from error

    def entries_with(self, new: Iterable[Entry]) -> list[Entry]:
        """Return the entries in use, with the reloadable ones of a new file.

        Raises:
            AuthorizerFault: as for ``is_reloaded``.
        """
        applies = self.is_reloaded()
        # Changed keys that need a restart keep their old values until then.
        entries = [entry for entry in self.settings.static if not applies(entry.key)]
        return entries + [entry for entry in new if applies(entry.key)]

    def merge(self, new: Settings) -> Settings:
        """Return the settings in use, with the reloadable keys of new settings.

        Raises:
            ConfigError: a dynamic value does not fit.
            AuthorizerFault: as for ``is_reloaded``.
        """
        entries = self.entries_with(new.static)
        return resolve(entries, self.settings.dynamic, new.jaas_file)

    async def check(self, new: Settings) -> Usable:
        """Validate settings with all parts; return them for ``use``.

        Raises:
            ValueError: a part rejects them; the text has the reason, and no secret.
            StartError: the security of a listener is wrong.
            AuthorizerFault: as for ``is_reloaded``.
        """
        self.check_authorizer(new.originals)
        usable = await self.usable(new)
        # Not for SIGHUP: an operator who edits the file may give a listener another name.
        self._security.check_certificates(usable.security)
        return usable

    async def usable(self, new: Settings) -> Usable:
        """Validate all but the authorizer; host names are resolved in a thread.

        Raises:
            ValueError: a host is unknown.
            StartError: the security of a listener is wrong.
        """
        try:
            # A DNS query may take seconds.
            overrides = await beside(lambda: resolved_overrides(limits_of(new)), "doorkeeper-names")
        except BindError as error:
            raise ValueError(str(error)) from error
        security = await self._security.prepare(new.listeners, new.originals)
        return Usable(new, overrides, security)

    def check_authorizer(self, originals: Mapping[str, str]) -> None:
        """Validate values with the authorizer if any of its keys has changed.

        Raises:
            ValueError: it rejects them, or fails to validate.
            AuthorizerFault: as for ``is_reloaded``.
        """
        for authorizer in self._affected_authorizers(originals):
            try:
                authorizer.validate_reconfiguration(originals)
            except ValueError:
                raise
            except (Exception, SystemExit) as error:
                self._log.exception(
                    "the authorizer failed to validate a configuration", authorizer=self._name
                )
                keys = ", ".join(changed_keys(self.settings.originals, originals))
                raise ValueError(
                    f"Validation of dynamic config update of [{keys}] failed with class"
                    f" {type(authorizer).__qualname__}"
                ) from error

    async def refresh(self) -> None:
        """Use changed files of mechanisms and TLS now."""
        await self._security.refresh()

    def use(self, usable: Usable) -> None:
        """Use a configuration that ``check`` has accepted.

        Raises:
            AuthorizerFault: the authorizer fails to use accepted values; nothing is changed.
        """
        # The authorizer goes first: it is the only part that can still fail.
        new = usable.settings
        for authorizer in self._affected_authorizers(new.originals):
            try:
                authorizer.reconfigure(new.originals)
            except (Exception, SystemExit) as error:
                # A plug-in must not end the process, least of all between two configurations.
                raise AuthorizerFault(self._name, "reconfigure", error) from error
        self._logs.set_levels(new[LOG_LEVELS])
        for name, for_connections in self._security.use(usable.security).items():
            self._edge.use_security(name, for_connections)
        of_listeners = {listener.name: listener.max_connections for listener in new.listeners}
        self._edge.admission.use(limits_of(new), usable.overrides, of_listeners)
        self._tokens.use(new)
        self._node.settings = new

    def _affected_authorizers(self, originals: Mapping[str, str]) -> list[Reconfigurable]:
        authorizer = self._authorizer
        if not isinstance(authorizer, Reconfigurable):
            return []
        changed = changed_keys(self.settings.originals, originals)
        return [] if self._keys().isdisjoint(changed) else [authorizer]


def is_reloaded(name: str) -> bool:
    """Return whether a key in the file applies without a restart.

    Unknown keys of a listener's plug-ins do: the plug-in is constructed again for new connections.
    """
    key = find_key(name).key
    if key is None:
        return is_for_plug_ins(name)
    return key.applies is not Applies.RESTART


def changed_keys(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))

"""Using a new configuration while the server runs: what SIGHUP and dynamic values share.

First everything that can refuse is asked; then all of it is used in one turn of the loop, so that
every request is answered by the old values or by the new ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from doorkeeper.app.doors import offers_of
from doorkeeper.app.edge import limits_of
from doorkeeper.authorizer.keys import ALLOW_EVERYONE, LOG_FORMAT, SUPER_USERS
from doorkeeper.authorizer.reconfigurable import Reconfigurable
from doorkeeper.config.keys import Applies
from doorkeeper.config.loading import settled
from doorkeeper.config.naming import named
from doorkeeper.net import BindError
from doorkeeper.net.server import resolved_overrides

if TYPE_CHECKING:
    from collections.abc import Mapping

    from doorkeeper.app.live_node import LiveNode
    from doorkeeper.authn.provider import Sources
    from doorkeeper.config.settings import Settings
    from doorkeeper.logs.pipeline import Logger, Logs
    from doorkeeper.net import Server

OF_AUTHORIZERS = frozenset({SUPER_USERS, ALLOW_EVERYONE, LOG_FORMAT})
"""Keys that count without a restart where the authorizer says so."""


class Reconfiguring:
    """The parts of a server that take new values."""

    def __init__(
        self, *, node: LiveNode, authorizer: object, edge: Server, sources: Sources, logs: Logs
    ) -> None:
        """Take the parts; the authorizer is the one that was configured, without its guard.

        Only what is ``Reconfigurable`` hears of new values; None is none.
        """
        self._node = node
        self._authorizer = authorizer
        self._edge = edge
        self._sources = sources
        self._logs = logs
        self._log: Logger = structlog.get_logger("doorkeeper.server")

    @property
    def settings(self) -> Settings:
        """Return what counts now."""
        return self._node.settings

    def is_reloaded(self, name: str) -> bool:
        """Say whether a new value in the file counts without a restart."""
        authorizer = self._authorizer
        if isinstance(authorizer, Reconfigurable) and name in authorizer.reconfigurable_configs():
            return True
        return is_reloaded(name) and (name not in OF_AUTHORIZERS or authorizer is None)

    def merged(self, new: Settings) -> Settings:
        """Return what counts now with what can be reloaded from new settings.

        Raises:
            ConfigError: a dynamic value does not fit.

        """
        old = self.settings
        entries = [entry for entry in old.given if not self.is_reloaded(entry.key)]
        entries += [entry for entry in new.given if self.is_reloaded(entry.key)]
        return settled(entries, old.dynamic).settings

    def check(self, new: Settings) -> None:
        """Ask everybody who may refuse.

        Raises:
            ValueError: somebody does; the text says why, and holds no secret.

        """
        try:
            resolved_overrides(limits_of(new))
        except BindError as error:
            raise ValueError(str(error)) from error
        for authorizer in self._concerned(new):
            try:
                authorizer.validate_reconfiguration(new.originals)
            except ValueError:
                raise
            except (Exception, SystemExit) as error:
                self._log.exception("the authorizer failed to validate a configuration")
                keys = ", ".join(changed_keys(self.settings.originals, new.originals))
                raise ValueError(
                    f"Validation of dynamic config update of [{keys}] failed with class"
                    f" {type(authorizer).__qualname__}"
                ) from error

    def use(self, new: Settings) -> None:
        """Use what ``check`` has accepted.

        Raises:
            Exception: whatever an authorizer raises that accepted the values before; then nothing
                else is changed either.

        """
        limits = limits_of(new)
        overrides = resolved_overrides(limits)
        for authorizer in self._concerned(new):
            try:
                authorizer.reconfigure(new.originals)
            except SystemExit as error:
                # A plug-in does not end the process, least of all between two states.
                raise RuntimeError("reconfigure raised SystemExit") from error
        self._logs.set_levels(new.log_levels)
        for listener in new.listeners:
            if listener.authenticates:
                self._edge.use_offers(listener.name, offers_of(listener, self._sources))
        of_listeners = {each.name: each.max_connections for each in new.listeners}
        self._edge.use_admission(limits, overrides, of_listeners)
        self._node.replace_settings(new)

    def _concerned(self, new: Settings) -> list[Reconfigurable]:
        authorizer = self._authorizer
        if not isinstance(authorizer, Reconfigurable):
            return []
        changed = changed_keys(self.settings.originals, new.originals)
        return [] if set(changed).isdisjoint(authorizer.reconfigurable_configs()) else [authorizer]


def is_reloaded(name: str) -> bool:
    """Say whether a key of ours counts without a restart when the file is read again."""
    key = named(name).key
    return key is not None and key.applies is not Applies.RESTART


def changed_keys(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the keys whose values differ, sorted."""
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))

"""The supported SASL mechanisms and their modules.

A module is imported when a listener first offers its mechanism: most servers need one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, cast

from doorkeeper.server.config.mechanisms import MechanismSettings
from doorkeeper.server.security.provider import Provider, Sources

# Each module has a function ``provider``.
MODULES: Final = {
    "OAUTHBEARER": "doorkeeper.server.security.oauth.provider",
    "PLAIN": "doorkeeper.server.security.plain",
    "SCRAM-SHA-256": "doorkeeper.server.security.scram_provider",
    "SCRAM-SHA-512": "doorkeeper.server.security.scram_provider",
    "GSSAPI": "doorkeeper.server.security.gssapi",
}


def provider_of(settings: MechanismSettings, sources: Sources) -> Provider:
    """Return a listener's mechanism, not started."""
    module = MODULES.get(settings.name)
    if module is None:
        raise ValueError(
            f"sasl.enabled.mechanisms: found {settings.name}; allowed: {', '.join(MODULES)}"
        )
    make = cast("Callable[[MechanismSettings, Sources], Provider]", import_module(module).provider)
    return make(settings, sources)

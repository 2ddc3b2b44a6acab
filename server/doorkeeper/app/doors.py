"""How clients of each listener prove who they are: mechanisms and the maker of principals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.authn.contract import OfferedMechanism
from doorkeeper.authn.mechanisms import provider_of
from doorkeeper.authn.principals import DefaultPrincipalBuilder
from doorkeeper.net.spec import Offers

if TYPE_CHECKING:
    from doorkeeper.authn.provider import Sources
    from doorkeeper.config.listeners import Listener


def offers_of(listener: Listener, sources: Sources) -> Offers:
    """Return what a listener offers.

    Raises:
        ValueError: a mechanism's configuration is wrong; the text begins with the key.

    """
    if not listener.authenticates:
        return Offers(None, DefaultPrincipalBuilder())
    return Offers(
        {
            settings.name: OfferedMechanism(
                settings.name, provider_of(settings, sources).begin, settings.max_reauth_ms
            )
            for settings in listener.mechanisms
        },
        DefaultPrincipalBuilder(),
    )

"""The mechanisms that a listener offers, made from its configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from doorkeeper.authn.contract import Mechanism, OfferedMechanism
from doorkeeper.authn.plain import Plain, PlainUsers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SERVED_MECHANISMS = ("PLAIN",)
"""Every mechanism that this server knows; others stop the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslConfig:
    """What the configuration says of SASL on one listener.

    ``enabled_mechanisms`` keeps the order of ``sasl.enabled.mechanisms``, which is the order in
    which clients are told. ``plain_users`` are names and passwords. ``max_reauth_ms`` is
    ``connections.max.reauth.ms`` for each mechanism; one that is absent has no bound.
    """

    enabled_mechanisms: tuple[str, ...]
    plain_users: Mapping[str, str] = field(default_factory=dict, repr=False)
    max_reauth_ms: Mapping[str, int] = field(default_factory=dict)


def offered_mechanisms(config: SaslConfig) -> dict[str, OfferedMechanism]:
    """Return the listener's mechanisms by name, in the configured order.

    Raises:
        ValueError: a mechanism that this server does not know.

    """
    return {
        name: OfferedMechanism(name, _factory(name, config), config.max_reauth_ms.get(name, 0))
        for name in config.enabled_mechanisms
    }


def _factory(name: str, config: SaslConfig) -> Callable[[], Mechanism]:
    if name == "PLAIN":
        users = PlainUsers(config.plain_users)
        return lambda: Plain(users)
    raise ValueError(
        f"SASL mechanism {name} is not served; served are {', '.join(SERVED_MECHANISMS)}"
    )

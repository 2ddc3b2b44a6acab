"""The secret of delegation tokens, and warnings about it.

Source: ``DelegationTokenManagerConfigs`` of Kafka 4.3.1, ``KafkaConfig`` of 3.9.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.config.raw_config import KeyPath, RawConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from doorkeeper.server.config.settings import Settings

NAME = "delegation.token.secret.key"
OLDER_NAME = "delegation.token.master.key"


def secret_of(given: RawConfig) -> str:
    """Return the secret; empty without one. The older key applies if the newer is absent."""
    if given.entry(KeyPath(NAME)) is None:
        return given.text(OLDER_NAME)
    return given.text(NAME)


def token_warnings(given: RawConfig, settings: Settings) -> Iterator[str]:
    """Yield warnings about the secret, one line each."""
    older = given.entry(KeyPath(OLDER_NAME))
    if older is not None:
        yield f"{older.source}: {OLDER_NAME} is deprecated: use {NAME}"
    if not settings.delegation_token_secret_key:
        return
    offered = {each.name for listener in settings.listeners for each in listener.mechanisms}
    # Clients send tokens over SCRAM only (KIP-48).
    if not any(name.startswith("SCRAM-") for name in offered):
        yield (
            f"{NAME} is given, but no listener offers SCRAM: nobody can log in with a"
            " delegation token; add SCRAM-SHA-256 or SCRAM-SHA-512 to sasl.enabled.mechanisms"
        )

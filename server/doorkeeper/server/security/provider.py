"""One mechanism of one listener, the data sources of mechanisms, and the module of each.

Each mechanism's module has a function ``provider(settings, sources)``. It is imported when a
listener first offers the mechanism: most servers need one of them. A configuration error is a
ValueError whose text begins with the key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from doorkeeper.server.config.sasl import MechanismSettings

if TYPE_CHECKING:
    from doorkeeper.acls.model import Principal
    from doorkeeper.base.credentials import ScramCredential
    from doorkeeper.server.runtime.logger import Logger
    from doorkeeper.server.security.contract import AuthenticationContext, Mechanism


class TokenLogin(Struct, frozen=True):
    """The verifier of a delegation token's login; ``expiry_ms`` is a wall-clock time."""

    owner: Principal
    hmac: bytes
    expiry_ms: int

    def __repr__(self) -> str:
        return f"TokenLogin(of {self.owner})"


class Sources(Struct, frozen=True):
    """Functions that mechanisms call while the server runs.

    ``scram_credential`` takes a mechanism's name and a user's, ``scram_iterations`` a mechanism's;
    it returns the most frequent number among the mechanism's credentials. ``token_login`` takes the
    id of a delegation token. ``salt_key`` is a secret that survives restarts. ``now_ms`` is the
    wall clock.
    """

    scram_credential: Callable[[str, str], ScramCredential | None]
    scram_iterations: Callable[[str], int]
    token_login: Callable[[str], TokenLogin | None]
    salt_key: bytes
    now_ms: Callable[[], int]
    logger: Logger

    def __repr__(self) -> str:
        # It holds ``salt_key``.
        return "Sources()"


class Provider(ABC):
    """One mechanism of one listener. Only ``begin`` is required."""

    @abstractmethod
    def begin(self, context: AuthenticationContext) -> Mechanism:
        """Return a new mechanism for one authentication."""

    async def start(self) -> None:
        """Prepare for logins; the listener opens afterwards.

        Raises:
            ValueError: it cannot; the text begins with the wrong key.
        """

    async def check(self) -> None:
        """Check the files that ``start`` would read, without starting threads or using the network.

        Raises:
            ValueError: a file cannot be used; the text begins with the key.
        """

    def refresh(self) -> None:
        """Reload changed files; a file with a problem is logged, and leaves the data in use.

        Called every few seconds in a thread, never concurrently.
        """

    async def close(self) -> None:
        """Release threads and connections."""


# --- the supported mechanisms

# Each module has a function ``provider``. The configuration has no other names.
MODULES: Final = {
    "OAUTHBEARER": "doorkeeper.server.security.oauth.provider",
    "PLAIN": "doorkeeper.server.security.plain",
    "SCRAM-SHA-256": "doorkeeper.server.security.scram",
    "SCRAM-SHA-512": "doorkeeper.server.security.scram",
    "GSSAPI": "doorkeeper.server.security.gssapi",
}


def provider_of(settings: MechanismSettings, sources: Sources) -> Provider:
    """Return a listener's mechanism, not started."""
    module = import_module(MODULES[settings.name])
    make = cast("Callable[[MechanismSettings, Sources], Provider]", module.provider)
    return make(settings, sources)

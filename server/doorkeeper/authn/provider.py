"""One mechanism of one listener, alive: what it is made from, and what it may ask while it runs.

A mechanism's module has a function ``provider(settings, sources)``; ``mechanisms`` knows which
module it is. What is wrong with the configuration is a ValueError whose text begins with the key.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.config.mechanisms import MechanismSettings as MechanismSettings  # noqa: PLC0414  its users look here

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from doorkeeper.authn.contract import AuthenticationContext, Mechanism
    from doorkeeper.authn.credentials import ScramCredential, TokenLogin
    from doorkeeper.logger import Logger


class Sources(NamedTuple):
    """What mechanisms ask while the server runs.

    ``scram_credential`` is asked with a mechanism's name and a user's, ``scram_iterations`` with a
    mechanism's: what its credentials mostly have. ``token_login`` is asked with the id of a
    delegation token. ``salt_key`` is a secret that outlives this process. ``now_ms`` is the wall
    clock.
    """

    scram_credential: Callable[[str, str], ScramCredential | None]
    scram_iterations: Callable[[str], int]
    token_login: Callable[[str], TokenLogin | None]
    salt_key: bytes
    now_ms: Callable[[], int]
    logger: Logger

    def __repr__(self) -> str:
        """Leave out what is secret."""
        return "Sources()"


class Provider(ABC):
    """One mechanism of one listener. Where nothing must be started or watched, ``begin`` is all."""

    @abstractmethod
    def begin(self, context: AuthenticationContext) -> Mechanism:
        """Return a mechanism for one authentication of a connection."""

    async def start(self) -> None:  # noqa: B027  most have nothing to start
        """Get ready, before the listener opens.

        Raises:
            ValueError: it cannot; the text begins with the key that is wrong.

        """

    async def check(self) -> None:  # noqa: B027  as for start
        """Look at the files that ``start`` would read; nothing is started, nobody is asked.

        Raises:
            ValueError: one cannot be used; the text begins with the key.

        """

    def refresh(self) -> Sequence[str]:
        """Look whether files have changed, and use them; return one line for each problem.

        What was used before stays in use where there is a problem. Called every few seconds, in a
        thread, and never twice at once.
        """
        return ()

    async def close(self) -> None:  # noqa: B027  as for start
        """Stop what runs."""

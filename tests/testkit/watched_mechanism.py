"""A mechanism that says what happens to it, in the place of SCRAM-SHA-256."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.server.security.contract import AuthenticationContext, Success
from doorkeeper.server.security.provider import MODULES, Provider, Sources

if TYPE_CHECKING:
    import pytest

    from doorkeeper.server.config.sasl import MechanismSettings
    from doorkeeper.server.security.contract import Step

MECHANISM = "SCRAM-SHA-256"
ISSUER = "sasl.oauthbearer.expected.issuer"
"""A key that a test may use to make one provider differ from another."""

EVENTS: list[str] = []
FAULTS: list[Exception] = []


class Yes(NamedTuple):
    """Lets everybody in, by the name of the provider."""

    name: str

    def step(self, token: bytes) -> Step:
        """Say yes."""
        return Success(self.name)


class Watched(Provider):
    """Writes down what it is asked; its name is a value of its listener."""

    def __init__(self, settings: MechanismSettings) -> None:
        """Take the name; ``wrong`` is refused."""
        self.name = settings.values.get(ISSUER, "first")
        if self.name == "wrong":
            raise ValueError(f"{ISSUER}: wrong on {settings.listener_name}")
        self.refreshes = 0

    def begin(self, context: AuthenticationContext) -> Yes:
        """Let somebody in."""
        return Yes(self.name)

    async def start(self) -> None:
        """Start, or not."""
        if self.name == "broken":
            raise RuntimeError("hush")
        if self.name == "lame":
            raise ValueError(f"{ISSUER}: lame")
        EVENTS.append(f"{self.name} starts")

    def refresh(self) -> None:
        """Note it, or fail."""
        self.refreshes += 1
        if FAULTS:
            raise FAULTS[0]

    async def close(self) -> None:
        """Close."""
        EVENTS.append(f"{self.name} closes")


def provider(settings: MechanismSettings, sources: Sources) -> Provider:
    """Return it."""
    return Watched(settings)


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put it in the place of SCRAM-SHA-256, with nothing written down."""
    monkeypatch.setitem(MODULES, MECHANISM, __name__)
    EVENTS.clear()
    FAULTS.clear()

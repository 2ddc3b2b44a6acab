"""A mechanism of a listener, alive."""

from __future__ import annotations

from doorkeeper.authn.contract import AuthenticationContext, Mechanism, Success
from doorkeeper.authn.passwords import PlainUsers
from doorkeeper.authn.plain import PlainMechanism
from doorkeeper.authn.provider import Provider


class Least(Provider):
    """What every provider must have."""

    def begin(self, context: AuthenticationContext) -> Mechanism:
        """Let alice in."""
        return PlainMechanism(PlainUsers({"alice": context.listener_name}), context)


async def test_most_providers_have_nothing_to_start() -> None:
    """Start, refresh and close do nothing where nobody says otherwise."""
    provider = Least()

    await provider.start()
    assert provider.refresh() == ()
    begun = provider.begin(AuthenticationContext("A", "SASL_PLAINTEXT", "127.0.0.1"))
    await provider.close()

    assert begun.step(b"\0alice\0A") == Success("alice")

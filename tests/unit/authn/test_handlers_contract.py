"""The contract of callback handlers: what it exports and what it asks for."""

from __future__ import annotations

import pytest

import doorkeeper.authn
from doorkeeper.authn import (
    AuthenticationContext,
    CallbackHandler,
    PlainPasswords,
    ScramCredentials,
    TokenRefused,
    TokenValidator,
    ValidatedToken,
)
from doorkeeper.config.plug_ins import missing_methods


def test_everything_that_is_exported_is_there() -> None:
    """Also what is imported only when somebody asks; and nothing else is found."""
    assert all(hasattr(doorkeeper.authn, name) for name in doorkeeper.authn.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = doorkeeper.authn.Nothing


@pytest.mark.parametrize(
    ("contract", "method"),
    [(PlainPasswords, "check"), (ScramCredentials, "credential"), (TokenValidator, "validate")],
)
def test_each_contract_asks_for_one_method(contract: type, method: str) -> None:
    """The rest has defaults that do nothing."""
    assert missing_methods(contract) == method


async def test_the_defaults_do_nothing() -> None:
    """A handler may leave out configure, start and close."""
    handler = CallbackHandler()

    handler.configure({}, "PLAIN", {})
    await handler.start()
    await handler.close()


async def test_a_handler_may_be_several() -> None:
    """One class can check passwords and tokens."""

    class Both(PlainPasswords, TokenValidator):
        async def check(self, name: str, password: str, context: AuthenticationContext) -> bool:
            return name == password

        async def validate(self, token: str, context: AuthenticationContext) -> ValidatedToken:
            raise TokenRefused("none is good", scope="read")

    both = Both()
    context = AuthenticationContext("A", "SASL_PLAINTEXT", "127.0.0.1")

    assert await both.check("a", "a", context)
    with pytest.raises(TokenRefused, match="none is good") as refused:
        await both.validate("t", context)
    assert (refused.value.status, refused.value.scope) == ("invalid_token", "read")
    assert refused.value.openid_configuration is None

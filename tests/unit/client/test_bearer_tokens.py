"""Tokens that a Java client's properties name."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING, Any

import pytest

from doorkeeper.client.bearer_tokens import bearer_of
from doorkeeper.client.errors import LoginRefused

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.client.logins import Bearer


async def claims_of(login: Bearer) -> dict[str, Any]:
    _, claims, signature = (await login.token()).split(".")
    assert signature == ""
    found: dict[str, Any] = json.loads(urlsafe_b64decode(claims + "==="))
    return found


async def test_unsecured_token_has_configured_claims() -> None:
    """Texts, numbers and lists, as Java's handler makes them; it is valid for an hour."""
    login = bearer_of(
        {
            "unsecuredLoginStringClaim_sub": "alice",
            "unsecuredLoginNumberClaim_n": "1.5",
            "unsecuredLoginListClaim_scope": "|a|b",
            "unsecuredLoginExtension_traceId": "7",
            "other": "x",
        },
        None,
    )

    claims = await claims_of(login)

    assert abs(claims.pop("iat") - time.time_ns() / 1e9) < 60
    assert abs(claims.pop("exp") - time.time_ns() / 1e9 - 3600) < 60
    assert claims == {"sub": "alice", "n": 1.5, "scope": ["a", "b"]}
    assert login.extensions == {"traceId": "7"}


async def test_token_file_is_read_at_each_login(tmp_path: Path) -> None:
    file = tmp_path / "a token.jwt"
    file.write_text(" first\n")
    login = bearer_of({}, file.as_uri())

    first = await login.token()
    file.write_text("second")

    assert (first, await login.token()) == ("first", "second")


async def test_file_without_token_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "odd").write_bytes(b"\xff")
    for name, text in (("absent", "No such file"), ("odd", "holds no token")):
        login = bearer_of({}, (tmp_path / name).as_uri())
        with pytest.raises(LoginRefused, match=text) as raised:
            await login.token()
        assert str(raised.value).startswith("sasl.oauthbearer.token.endpoint.url: ")


@pytest.mark.parametrize(
    ("options", "endpoint", "text"),
    [
        ({}, "https://idp/token", "sasl.oauthbearer.token.endpoint.url: found https://idp/token"),
        ({}, None, "OAUTHBEARER requires unsecuredLoginStringClaim_sub"),
        (
            {"unsecuredLoginNumberClaim_n": "x"},
            None,
            "the option unsecuredLoginNumberClaim_n: found 'x'; allowed: a number",
        ),
    ],
)
def test_token_endpoint_is_not_supported(
    options: dict[str, str], endpoint: str | None, text: str
) -> None:
    """A service that gives tokens is not asked from here: ``Bearer`` takes a function."""
    with pytest.raises(ValueError, match=text):
        bearer_of(options, endpoint)

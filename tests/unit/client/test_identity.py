"""Who a client is to a cluster, as far as its configuration tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.client.config import ClientConfig
from doorkeeper.client.identity import Identity, ScramLogin, identity_of
from doorkeeper.client.logins import Bearer, Password
from doorkeeper.client.properties import client_config
from testkit.certificates import world

if TYPE_CHECKING:
    from pathlib import Path

OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


async def unreadable() -> str:
    return "not.a.token"


@pytest.mark.parametrize(
    ("login", "identity"),
    [
        (None, Identity("User:ANONYMOUS")),
        (Password("PLAIN", "ops", "p"), Identity("User:ops")),
        (
            Password("SCRAM-SHA-256", "ops", "p"),
            Identity("User:ops", scram=ScramLogin("ops", "SCRAM-SHA-256")),
        ),
        # The principal is the owner of the token.
        (Password("SCRAM-SHA-256", "id", "hmac", by_token=True), Identity(None)),
        (Bearer(unreadable), Identity(None)),
    ],
)
async def test_principal_of_a_login(login: Password | Bearer | None, identity: Identity) -> None:
    assert await identity_of(ClientConfig(bootstrap="localhost:1", login=login)) == identity


@pytest.mark.parametrize(
    ("lines", "principal"),
    [
        (
            (
                "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
                f'sasl.jaas.config={OAUTH} required unsecuredLoginStringClaim_sub="ops";\n'
            ),
            "User:ops",
        ),
        (
            (
                "security.protocol=SSL\nssl.keystore.type=PEM\n"
                "ssl.keystore.location={folder}/client.pem\n"
            ),
            "User:CN=alice",
        ),
        ("security.protocol=SSL\n", "User:ANONYMOUS"),
    ],
)
async def test_mapped_principal_is_assumed(tmp_path: Path, lines: str, principal: str) -> None:
    file = tmp_path / "client.properties"
    world().alice.write_pem(tmp_path / "client.pem")
    file.write_text(lines.replace("{folder}", str(tmp_path)))

    found = await identity_of(client_config("localhost:1", file))

    assert found.principal is not None
    assert found.principal.startswith(principal)
    assert bool(found.doubt) is (principal != "User:ANONYMOUS")

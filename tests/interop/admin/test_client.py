"""``doorkeeper.client`` against real brokers of both releases, and against Doorkeeper."""

from __future__ import annotations

import asyncio
import contextlib
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from doorkeeper.acls.model import ANY_BINDING, ResourceType
from doorkeeper.base.errors import ErrorCode
from doorkeeper.client import (
    AdminClient,
    ApiFailure,
    ClientConfig,
    LoginRefused,
    NotServed,
    Password,
    ScramDeletion,
    ScramPassword,
    client_config,
)
from doorkeeper_wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from testkit.acl import READ, WRITE, allow, deny, group, topic, wanted
from testkit.certificates import PASSWORD, jks, trust_store, world
from testkit.kafka_jars import VERSIONS
from testkit.kafka_target import USERS, Target, doorkeeper_target, kafka_target
from testkit.load import scaled
from testkit.or_skip import or_skip
from testkit.tls_doors import TlsDoors, doorkeeper_doors, kafka_doors

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from doorkeeper.client import ClientError

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
SESSION_MS = 3000
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
UNSECURED = (
    "org.apache.kafka.common.security.oauthbearer.internals.unsecured"
    ".OAuthBearerUnsecuredValidatorCallbackHandler"
)
SASL = "listener.name.sasl."
KEYS = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    **{f"{SASL}{each.lower()}.sasl.jaas.config": f"{SCRAM} required;" for each in MECHANISMS},
    f"{SASL}oauthbearer.sasl.jaas.config": (
        f'{OAUTH} required unsecuredLoginStringClaim_sub="broker";'
    ),
    f"{SASL}oauthbearer.sasl.server.callback.handler.class": UNSECURED,
    "connections.max.reauth.ms": str(SESSION_MS),
    "delegation.token.secret.key": "the key of tokens",
    "super.users": "User:ANONYMOUS;User:admin;User:scram",
}
ACLS = sorted(
    [
        allow("alice", READ, topic("orders")),
        deny("eve", WRITE, topic("orders"), "10.0.0.1"),
        allow("alice", READ, group("\u00fcber")),
    ]
)


@pytest.fixture(scope="module", params=[*VERSIONS, "doorkeeper"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    """Give each server in turn; its sessions are short."""
    running = or_skip(
        lambda: (
            doorkeeper_target(**KEYS)
            if request.param == "doorkeeper"
            else kafka_target(request.param, **KEYS)
        )
    )
    yield running
    running.close()


async def settled(admin: AdminClient, count: int) -> None:
    """Wait until a broker has applied what it has acknowledged."""
    async with asyncio.timeout(scaled(60)):
        while len(await admin.describe_acls()) != count:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("listener", ["plain", "sasl", "controller"])
async def test_acls_are_created_described_and_deleted(target: Target, listener: str) -> None:
    config = ClientConfig(
        bootstrap=f"localhost:1,{getattr(target, listener)}",
        controllers=listener == "controller",
        login=Password("PLAIN", "admin", USERS["admin"]) if listener == "sasl" else None,
    )
    async with AdminClient(config) as admin:
        cluster = await admin.cluster()
        created = await admin.create_acls([*ACLS, allow("x", READ, topic(""))])
        await settled(admin, len(ACLS))
        everything = await admin.describe_acls()
        some = await admin.describe_acls(wanted(ResourceType.GROUP, principal="User:alice"))
        deleted = await admin.delete_acls([wanted(principal="User:alice"), ANY_BINDING])
        await settled(admin, 0)

    assert cluster.cluster_id
    assert cluster.controller_id in cluster.nodes
    assert [each.error for each in created[:-1]] == [None] * len(ACLS)
    assert created[-1].error is not None
    assert created[-1].error.code is ErrorCode.INVALID_REQUEST
    assert everything == ACLS
    assert some == [each for each in ACLS if each.pattern.resource_type is ResourceType.GROUP]
    assert sorted(each.binding for each in deleted[0].removed) == [
        each for each in ACLS if each.entry.principal == "User:alice"
    ]
    assert {each.binding for result in deleted for each in result.removed} == set(ACLS)


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_scram_users_are_created_and_authenticate(target: Target, mechanism: str) -> None:
    async with AdminClient(ClientConfig(bootstrap=target.plain)) as admin:
        made = await admin.alter_scram_credentials(
            [ScramPassword("scram", each, "s,e=cret", 8192) for each in MECHANISMS]
        )
        async with asyncio.timeout(scaled(60)):
            both = dict.fromkeys(MECHANISMS, 8192)
            while (await admin.scram_credentials()).get("scram") != both:
                await asyncio.sleep(0.02)
        login = Password(mechanism, "scram", "s,e=cret")
        async with AdminClient(ClientConfig(bootstrap=target.sasl, login=login)) as scram:
            acls = await scram.describe_acls()
        wrong = ClientConfig(bootstrap=target.sasl, login=Password(mechanism, "scram", "other"))
        async with AdminClient(wrong) as stranger:
            with pytest.raises(LoginRefused, match="SASL_AUTHENTICATION_FAILED: Authentication"):
                await stranger.describe_acls()
        gone = await admin.alter_scram_credentials(
            [ScramDeletion("scram", each) for each in (*MECHANISMS, *MECHANISMS)]
        )

    assert [each.error for each in made] == [None, None]
    assert acls == []
    assert [each.error and each.error.code for each in gone] == [
        None,
        None,
        ErrorCode.RESOURCE_NOT_FOUND,
        ErrorCode.RESOURCE_NOT_FOUND,
    ]


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_delegation_token_authenticates_its_owner(target: Target, mechanism: str) -> None:
    owner = Password("PLAIN", "admin", USERS["admin"])
    async with AdminClient(ClientConfig(bootstrap=target.sasl, login=owner)) as admin:
        made = await admin.call(
            CreateDelegationTokenRequest(max_lifetime_ms=-1),
            CreateDelegationTokenResponse,
            controller=True,
        )
        bearer = Password(mechanism, made.token_id, b64encode(made.hmac).decode(), by_token=True)

        async def found() -> object:
            async with AdminClient(ClientConfig(bootstrap=target.sasl, login=bearer)) as client:
                return await client.describe_acls()

        async with asyncio.timeout(scaled(60)):
            while True:
                # A broker knows of a token a little after the controller has made it.
                with contextlib.suppress(LoginRefused):
                    assert await found() == await admin.describe_acls()
                    break


async def test_sessions_are_renewed_under_load(target: Target) -> None:
    """Many calls side by side, over several sessions' time: no connection is lost."""
    retries: list[ClientError] = []
    config = ClientConfig(bootstrap=target.sasl, login=Password("PLAIN", "admin", USERS["admin"]))
    loop = asyncio.get_running_loop()
    until_s = loop.time() + 3 * SESSION_MS / 1000
    async with AdminClient(config, on_retry=retries.append) as admin:
        while loop.time() < until_s:
            found = await asyncio.gather(*(admin.describe_acls() for _ in range(20)))
            assert found == [[]] * 20
            await asyncio.sleep(0.1)

    assert retries == []


async def test_brokers_are_not_controllers(target: Target) -> None:
    """KIP-919: who asks the wrong kind of node is told."""
    async with AdminClient(ClientConfig(bootstrap=target.plain, controllers=True)) as admin:
        with pytest.raises(ApiFailure) as refused:
            await admin.describe_acls()
    async with AdminClient(ClientConfig(bootstrap=target.controller)) as admin:
        with pytest.raises(NotServed):
            await admin.describe_acls()

    assert refused.value.code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


@pytest.fixture(scope="module", params=["doorkeeper", VERSIONS[0]])
def doors(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TlsDoors]:
    """Give servers with TLS."""
    folder = tmp_path_factory.mktemp("doors")
    running = or_skip(
        lambda: (
            doorkeeper_doors(folder)
            if request.param == "doorkeeper"
            else kafka_doors(folder, request.param)
        )
    )
    yield running
    running.close()


def properties(folder: Path, store_type: str, *, shown: bool = False, **more: str) -> Path:
    """Write a Java client's properties, with stores of a type."""
    trusted, own = folder / "trusted", folder / "own"
    lines = {"security.protocol": "SSL", "ssl.truststore.type": store_type}
    lines["ssl.truststore.location"] = str(trusted)
    if store_type == "PEM":
        trusted.write_text(world().authority.pem)
        world().alice.write_pem(own)
    else:
        trust_store(trusted, store_type, world().authority)
        lines["ssl.truststore.password"] = PASSWORD
        if store_type == "JKS":
            jks(world().alice, own)
        else:
            own.write_bytes(world().alice.pkcs12())
    if shown:
        lines |= {"ssl.keystore.type": store_type, "ssl.keystore.location": str(own)}
        if store_type != "PEM":
            lines |= {"ssl.keystore.password": PASSWORD, "ssl.key.password": PASSWORD}
    lines |= {key.replace("_", "."): value for key, value in more.items()}
    file = folder / "client.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
    return file


@pytest.mark.parametrize("store_type", ["PEM", "PKCS12", "JKS"])
async def test_java_key_stores_are_accepted(
    doors: TlsDoors, tmp_path: Path, store_type: str
) -> None:
    file = properties(tmp_path, store_type, shown=True)
    async with AdminClient(client_config(doors.address("MUTUAL"), file)) as admin:
        cluster = await admin.cluster()

    assert cluster.nodes

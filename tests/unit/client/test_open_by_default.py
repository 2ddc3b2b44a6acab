"""Whether a cluster allows everyone what no ACL is about, as its brokers tell it."""

from __future__ import annotations

import asyncio

import pytest

from doorkeeper.client import admin
from doorkeeper.client.admin import AdminClient
from doorkeeper.client.config import ClientConfig
from doorkeeper.client.open_by_default import KEY, is_open_by_default
from doorkeeper.testing import DoorkeeperServer
from doorkeeper_wire.messages.api_versions import ApiVersionsResponse, FinalizedFeatureKey
from doorkeeper_wire.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from testkit.scripted_server import ScriptedServer, versions


def listed(*values: str | None, error: int = 0) -> DescribeConfigsResult:
    configs = tuple(DescribeConfigsResourceResult(name=KEY, value=each) for each in values)
    return DescribeConfigsResult(error_code=error, configs=configs)


@pytest.mark.parametrize(
    ("results", "is_open"),
    [
        ([listed("true")], True),
        ([listed(" TRUE ")], True),
        ([listed("false")], False),
        ([listed("yes")], False),
        # A broker 4.3.1 lists the key where it is set, and hides the value.
        ([listed(None)], None),
        ([listed()], False),
        ([listed(error=31)], None),
        ([], None),
    ],
)
async def test_default_from_broker_configuration(
    results: list[DescribeConfigsResult], *, is_open: bool | None
) -> None:
    answer = DescribeConfigsResponse(results=tuple(results))
    async with (
        ScriptedServer(DescribeConfigs=lambda _: answer) as server,
        AdminClient(ClientConfig(bootstrap=server.address, retry_ms=1)) as client,
    ):
        assert await is_open_by_default(client) is is_open


async def test_broker_that_is_down_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as a request is tried again, a minute; whether it is open is then not known."""
    monkeypatch.setattr(admin, "_ANSWER_S", 0.05)
    answer = DescribeConfigsResponse(results=(listed("false"),))
    async with (
        asyncio.timeout(10),
        ScriptedServer(DescribeConfigs=lambda _: answer) as server,
        AdminClient(ClientConfig(bootstrap=server.address, retry_ms=1)) as client,
    ):
        server.scripts["Metadata"] = lambda _: server.metadata(1, server.port)
        assert await is_open_by_default(client) is None


async def test_doorkeeper_hides_the_value() -> None:
    with DoorkeeperServer(
        listeners=["PLAINTEXT"],
        super_users=["User:ANONYMOUS"],
        properties={KEY: "true", "doorkeeper.kafka.release": "4.3"},
    ) as server:
        async with AdminClient(ClientConfig(bootstrap=server.bootstrap_servers)) as client:
            assert await is_open_by_default(client) is None
            assert await client.metadata_version() == 30


@pytest.mark.parametrize(("epoch", "level"), [(0, 33), (-1, 0)])
async def test_finalized_feature_level_is_used(epoch: int, level: int) -> None:
    answer = ApiVersionsResponse(
        api_keys=versions().api_keys,
        finalized_features_epoch=epoch,
        finalized_features=(
            FinalizedFeatureKey(
                name="metadata.version", max_version_level=33, min_version_level=33
            ),
        ),
    )
    async with (
        ScriptedServer(ApiVersions=lambda _: answer) as server,
        AdminClient(ClientConfig(bootstrap=server.address, retry_ms=1)) as client,
    ):
        assert await client.metadata_version() == level

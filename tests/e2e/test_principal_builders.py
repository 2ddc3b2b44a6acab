"""Principal builders of others in a real server, and what is told where they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper_wire.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from testkit import e2e, logins
from testkit.checkout import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from testkit.serving import Serving

HERE = "testkit.callback_handlers"
PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def serving(folder: Path, builder: str) -> Serving:
    keys = (
        "listeners=DOOR://localhost:0,OPEN://localhost:0",
        "listener.security.protocol.map=DOOR:SASL_PLAINTEXT,OPEN:PLAINTEXT",
        "inter.broker.listener.name=OPEN",
        "sasl.enabled.mechanisms=PLAIN",
        f'listener.name.door.plain.sasl.jaas.config={PLAIN_MODULE} required user_raise="raise";',
        builder,
    )
    return e2e.serving(folder, *keys, python_path=ROOT / "tests")


def test_missing_principal_closes_the_connection(tmp_path: Path) -> None:
    user, cause = "raise", "LookupError: nobody knows"
    key = f"listener.name.door.principal.builder.class={HERE}.Faulty"
    with serving(tmp_path, key) as server:
        with server.connect("DOOR") as talk:
            assert logins.plain(talk, user, user).error_code == 0
            with pytest.raises((EOFError, ConnectionError)):
                talk.call(DescribeClusterRequest(), DescribeClusterResponse, 1)
        line = server.line("cannot build the principal for a connection")
        assert line["cause"] == f"BuilderFault: {HERE}.Faulty: {cause}"
        assert line["connection"].startswith("127.0.0.1:")
        assert "Traceback" not in str(line)
        with server.connect("OPEN") as talk:
            assert talk.call(DescribeClusterRequest(), DescribeClusterResponse, 1).error_code == 0
        assert server.stop() == 0

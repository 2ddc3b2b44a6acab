"""The server.properties of a real KRaft broker starts the server as it is."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from testkit import sasl_doors
from testkit.certificates import PASSWORD
from testkit.doorkeeper_server import DoorkeeperServer
from testkit.scram_conversations import play, right

if TYPE_CHECKING:
    from pathlib import Path


def test_broker_configuration_starts_the_server(tmp_path: Path) -> None:
    doors = sasl_doors.doorkeeper(tmp_path)
    try:
        doors.make_users()
        script = partial(right, mechanism="SCRAM-SHA-512", name="alice")
        for listener in ("SASL", "SECURE", "TIMED"):
            assert len(play(script, doors.connect(listener), is_bare=False)) == 5
        assert isinstance(doors.server, DoorkeeperServer)
        assert doors.server.stop() == 0
        text = doors.server.log.read_text()
    finally:
        doors.close()
    warning = (
        "Kafka keys that have no effect here: process.roles, controller.quorum.voters,"
        " sasl.mechanism.inter.broker.protocol, sasl.mechanism.controller.protocol,"
        " sasl.login.refresh.window.factor, ssl.endpoint.identification.algorithm,"
        " ssl.secure.random.implementation, offsets.topic.replication.factor (C902)"
    )
    lines = [json.loads(line) for line in text.splitlines()]
    warnings = [line["event"] for line in lines if line["level"] in ("WARN", "ERROR")]
    # The passwords of the test are those of the pages.
    others = [each for each in warnings if "(C901)" not in each]
    assert [each for each in others if not each.startswith("store created")] == [warning]
    assert "-secret" not in text
    assert PASSWORD not in text

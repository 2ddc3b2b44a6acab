"""What Kafka's tool was told is done is still there after the server was killed."""

import pytest

from testkit.doorkeeper_server import DoorkeeperServer
from testkit.kafka_acl_rows import allow, listed
from testkit.kafka_target import doorkeeper_target
from testkit.kafka_tools import KafkaTools


@pytest.mark.parametrize("ending", ["kill", "stop"])
def test_acls_stay(tools: KafkaTools, ending: str) -> None:
    """ACLs, topics and the cluster id outlive SIGKILL and SIGTERM; SIGTERM exits 0."""
    target = doorkeeper_target()
    assert isinstance(target.server, DoorkeeperServer)
    try:

        def run(tool: str, line: str) -> str:
            done = tools.run(tool, *line.split(), "--bootstrap-server", target.plain)
            assert done.status == 0, done
            return done.stdout

        cluster_id = run("kafka-cluster", "cluster-id")
        run("kafka-topics", "--create --topic kept --partitions 2")
        for number in range(5):
            run("kafka-acls", f"--add --allow-principal User:bob --topic t{number}")

        if ending == "stop":
            assert target.server.stop() == 0
        else:
            target.server.kill()
        target.server.start()

        held = frozenset().union(*(allow("User:bob", "ALL", f"TOPIC t{n}") for n in range(5)))
        done = tools.run("kafka-acls", "--bootstrap-server", target.plain, "--list")
        assert listed(done) == held
        assert run("kafka-topics", "--list").split() == ["kept"]
        assert run("kafka-cluster", "cluster-id") == cluster_id
    finally:
        target.close()

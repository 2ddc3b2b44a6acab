"""Kafka's other tools: topics, consumer groups, configs, cluster, features, API versions.

The expectations hold on Kafka 4.3.1, where a real consumer makes the group that a Doorkeeper reads
from its catalog file.
"""

import re
from collections.abc import Callable, Iterator

import pytest

from testkit.kafka_acl_rows import Acls, allow
from testkit.kafka_target import Target
from testkit.kafka_tools import CallFailed, Done, KafkaTools

Run = Callable[..., Done]


@pytest.fixture
def run(tools: KafkaTools, target: Target) -> Run:
    """Run a tool against the open listener and require its exit status."""

    def command(tool: str, line: str, *, status: int = 0) -> Done:
        done = tools.run(tool, *line.split(), "--bootstrap-server", target.plain)
        assert done.status == status, done
        return done

    return command


@pytest.fixture
def as_alice(
    tools: KafkaTools, target: Target, acls: Acls, tmp_path_factory: pytest.TempPathFactory
) -> Run:
    """Run a tool as alice, who has only what the test gives her."""
    file = tmp_path_factory.mktemp("client") / "client.properties"
    config = target.config("alice")
    file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))

    def command(tool: str, line: str, *, status: int = 0) -> Done:
        words = ("--bootstrap-server", target.sasl, "--command-config", str(file))
        done = tools.run(tool, *line.split(), *words)
        assert done.status == status, done
        return done

    return command


@pytest.fixture
def topic(
    kafka_tools: Callable[[str], KafkaTools], target: Target
) -> Iterator[Callable[[str], str]]:
    """Promise that a topic is gone when the test ends."""
    names: list[str] = []

    def named(name: str) -> str:
        names.append(name)
        return name

    yield named
    for name in names:
        try:
            kafka_tools("4.3.1").call("deleteTopic", target.config(), name=name)
        except CallFailed as error:
            assert "UnknownTopicOrPartitionException" in str(error)  # noqa: PT017 - it went before


def own_topics(done: Done) -> list[str]:
    """Return the topics that ``--list`` printed, without Kafka's internal one."""
    return [name for name in done.stdout.split() if not name.startswith("__")]


class TestTopics:
    """kafka-topics.sh."""

    def test_life(self, run: Run, topic: Callable[[str], str]) -> None:
        """A topic is created, listed, described with its partitions, and deleted."""
        name = topic("life")

        made = run("kafka-topics", "--create --topic life --partitions 3 --replication-factor 1")
        assert made.stdout == f"Created topic {name}.\n"
        assert own_topics(run("kafka-topics", "--list")) == [name, "orders"]
        shown = run("kafka-topics", "--describe --topic life").stdout.splitlines()
        assert re.match(
            r"Topic: life\tTopicId: \S{22}\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: ",
            shown[0],
        )
        assert [line.split("\t")[1:6] for line in shown[1:]] == [
            ["Topic: life", f"Partition: {n}", "Leader: 1", "Replicas: 1", "Isr: 1"]
            for n in range(3)
        ]

        run("kafka-topics", "--delete --topic life")
        assert own_topics(run("kafka-topics", "--list")) == ["orders"]

    def test_config(self, run: Run, topic: Callable[[str], str]) -> None:
        """What was configured at creation is shown by --describe and by kafka-configs."""
        topic("configured")
        run(
            "kafka-topics",
            "--create --topic configured"
            " --config retention.ms=1000 --config cleanup.policy=compact",
        )

        shown = run("kafka-topics", "--describe --topic configured").stdout.splitlines()[0]
        configs = shown.rpartition("Configs: ")[2].split(",")
        assert {"retention.ms=1000", "cleanup.policy=compact"} <= set(configs)
        listed = run("kafka-configs", "--describe --entity-type topics --entity-name configured")
        assert listed.stdout.startswith("Dynamic configs for topic configured are:\n")
        assert "  retention.ms=1000 sensitive=false" in listed.stdout
        assert "DYNAMIC_TOPIC_CONFIG:retention.ms=1000" in listed.stdout

    def test_alter(self, run: Run, topic: Callable[[str], str]) -> None:
        """A topic gets more partitions, on brokers of choice or not, and never fewer."""
        run("kafka-topics", f"--create --topic {topic('grown')}")

        run("kafka-topics", "--alter --topic grown --partitions 3")
        run("kafka-topics", "--alter --topic grown --partitions 4 --replica-assignment 1,1,1,1")

        shown = run("kafka-topics", "--describe --topic grown").stdout.splitlines()
        assert len(shown) == 1 + 4
        fewer = run("kafka-topics", "--alter --topic grown --partitions 2", status=1)
        assert "currently has 4 partition(s); 2 would not be an increase." in fewer.text

    def test_offsets_and_leaders(self, run: Run, topic: Callable[[str], str]) -> None:
        """Each partition ends at 0, and its preferred broker leads it."""
        run("kafka-topics", f"--create --topic {topic('empty')} --partitions 2")

        ends = run("kafka-get-offsets", "--topic empty --time -1").stdout.splitlines()
        assert ends == ["empty:0:0", "empty:1:0"]
        elected = run(
            "kafka-leader-election", "--election-type preferred --topic empty --partition 1"
        )
        assert "Valid replica already elected for partitions empty-1" in elected.text

    def test_describe_all(self, run: Run) -> None:
        """--describe without a topic shows all of them."""
        shown = run("kafka-topics", "--describe").stdout

        assert "Topic: orders\tTopicId: " in shown
        assert "PartitionCount: 2" in shown

    def test_exists(self, run: Run, topic: Callable[[str], str]) -> None:
        """A topic that is there is not created again, and --if-not-exists makes that no error."""
        run("kafka-topics", f"--create --topic {topic('there')}")

        done = run("kafka-topics", "--create --topic there", status=1)
        assert "Topic 'there' already exists." in done.text

        run("kafka-topics", "--create --topic there --if-not-exists")

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            (
                "--topic bad/name",
                "'bad/name' contains one or more characters other than ASCII alphanumerics",
            ),
            ("--topic two --replication-factor 2", "InvalidReplicationFactorException"),
        ],
    )
    def test_cannot_create(self, run: Run, options: str, text: str) -> None:
        """An illegal name and more replicas than brokers are refused with Kafka's texts."""
        assert text in run("kafka-topics", f"--create {options}", status=1).text

    def test_colliding_names(self, run: Run, topic: Callable[[str], str]) -> None:
        """A name that differs only in . and _ from another collides with it."""
        run("kafka-topics", f"--create --topic {topic('a.b')}")

        done = run("kafka-topics", "--create --topic a_b", status=1)

        assert "Topic 'a_b' collides with existing topic: a.b" in done.text

    def test_unknown(self, run: Run) -> None:
        """A topic that is not there cannot be described or deleted."""
        for action in ("--describe", "--delete"):
            done = run("kafka-topics", f"{action} --topic none", status=1)
            assert "does not exist as expected" in done.text

    def test_declared(self, run: Run, target: Target) -> None:
        """A topic of the catalog is neither created nor deleted; the refusals name the file."""
        if target.is_kafka:
            pytest.skip("a broker has no catalog")

        gone = run("kafka-topics", "--delete --topic orders", status=1)
        assert "PolicyViolationException" in gone.text
        assert "catalog.yaml" in gone.text

        made = run("kafka-topics", "--create --topic orders", status=1)
        assert "TopicExistsException: Topic 'orders' already exists" in made.text
        assert "catalog.yaml" in made.text

    def test_refused(self, as_alice: Run) -> None:
        """Without rights a user sees no topic, creates none and deletes none."""
        assert as_alice("kafka-topics", "--list").stdout.split() == []
        made = as_alice("kafka-topics", "--create --topic mine", status=1)
        assert "TopicAuthorizationException: Authorization failed." in made.text
        gone = as_alice("kafka-topics", "--delete --topic orders", status=1)
        assert "does not exist as expected" in gone.text

    def test_prefix(self, as_alice: Run, acls: Acls, topic: Callable[[str], str]) -> None:
        """With Create and Delete on a prefix a user makes and deletes topics under it only."""
        acls.put(allow("User:alice", "CREATE DELETE DESCRIBE_CONFIGS", "TOPIC alice- PREFIXED"))

        as_alice("kafka-topics", f"--create --topic {topic('alice-1')}")
        assert as_alice("kafka-topics", "--list").stdout.split() == ["alice-1"]
        as_alice("kafka-topics", "--create --topic other", status=1)
        as_alice("kafka-topics", "--delete --topic alice-1")
        assert as_alice("kafka-topics", "--list").stdout.split() == []


class TestConsumerGroups:
    """kafka-consumer-groups.sh."""

    def test_list(self, run: Run) -> None:
        """--list names the groups, with their state and type when asked."""
        assert run("kafka-consumer-groups", "--list").stdout.split() == ["payments"]
        states = run("kafka-consumer-groups", "--list --state").stdout.split()
        assert states == ["GROUP", "STATE", "payments", "Stable"]
        types = run("kafka-consumer-groups", "--list --type").stdout.split()
        assert types == ["GROUP", "TYPE", "payments", "Classic"]

    def test_list_of_a_state(self, run: Run) -> None:
        """--list --state X shows the groups in that state."""
        stable = run("kafka-consumer-groups", "--list --state Stable").stdout.split()
        assert stable == ["GROUP", "STATE", "payments", "Stable"]
        empty = run("kafka-consumer-groups", "--list --state Empty").stdout.split()
        assert empty == ["GROUP", "STATE"]

    @pytest.mark.parametrize("which", ["--group payments", "--all-groups"])
    def test_state(self, run: Run, target: Target, which: str) -> None:
        """--describe --state tells coordinator, strategy, state and number of members."""
        shown = run("kafka-consumer-groups", f"--describe {which} --state").stdout.split("\n")

        assert shown[2].split() == ["payments", target.plain, "(1)", "range", "Stable", "1"]

    def test_members(self, run: Run) -> None:
        """--describe --members tells each member's ids, host and number of partitions."""
        line = "--describe --group payments --members"
        shown = run("kafka-consumer-groups", line).stdout.split("\n")

        group, member, *rest = shown[2].split()
        assert group == "payments"
        assert member.startswith("reader-1-")
        assert rest == ["reader-1", "/127.0.0.1", "orders-reader", "2"]

    def test_assignment(self, run: Run, tools: KafkaTools) -> None:
        """--members --verbose tells which partitions a member has."""
        line = "--describe --group payments --members --verbose"
        shown = run("kafka-consumer-groups", line).stdout.split("\n")

        expected = "(0,1)" if tools.version == "3.9.1" else "orders:0,1"
        assert expected in shown[2].split()

    def test_unknown(self, run: Run, tools: KafkaTools) -> None:
        """A group that is not there is told to be missing, in each release's words."""
        line = "--describe --group none --state"
        done = run("kafka-consumer-groups", line)

        assert (
            "Consumer group 'none' does not exist."
            if tools.version == "3.9.1"
            else "GroupIdNotFoundException: Group none not found."
        ) in done.text

    def test_refused(self, as_alice: Run, acls: Acls) -> None:
        """Without Describe a user sees no group, and is refused one that is named."""
        assert as_alice("kafka-consumer-groups", "--list").stdout.split() == []
        line = "--describe --group payments --state"
        assert "GroupAuthorizationException" in as_alice("kafka-consumer-groups", line).text

        acls.put(allow("User:alice", "DESCRIBE", "GROUP payments"))
        assert as_alice("kafka-consumer-groups", "--list").stdout.split() == ["payments"]
        assert "Stable" in as_alice("kafka-consumer-groups", line).stdout


class TestConfigs:
    """kafka-configs.sh."""

    def test_broker(self, run: Run, target: Target) -> None:
        """--describe --all shows the configuration that the server runs with."""
        line = "--describe --entity-type brokers --entity-name 1 --all"
        shown = run("kafka-configs", line).stdout

        assert shown.startswith("All configs for broker 1 are:\n")
        assert f"  advertised.listeners=PLAINTEXT://{target.plain},SASL://" in shown
        assert (
            "  authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"
            " sensitive=false synonyms={STATIC_BROKER_CONFIG:authorizer.class.name=" in shown
        )
        assert "  auto.create.topics.enable=false sensitive=false" in shown

    def test_no_secrets(self, run: Run) -> None:
        """Passwords and super users are not shown."""
        line = "--describe --entity-type brokers --entity-name 1 --all"
        shown = run("kafka-configs", line).stdout

        assert "-secret" not in shown
        assert "  super.users=null sensitive=true" in shown
        assert "  listener.name.sasl.plain.sasl.jaas.config=null sensitive=true" in shown

    def test_dynamic(self, run: Run) -> None:
        """Without --all only dynamic keys are shown, of which there are none."""
        shown = run("kafka-configs", "--describe --entity-type brokers --entity-name 1").stdout

        assert shown == "Dynamic configs for broker 1 are:\n"

    def test_refused(self, as_alice: Run) -> None:
        """Without DescribeConfigs on the cluster a user is refused."""
        line = "--describe --entity-type brokers --entity-name 1 --all"
        assert "ClusterAuthorizationException" in as_alice("kafka-configs", line, status=1).text


class TestCluster:
    """kafka-cluster.sh, kafka-broker-api-versions.sh and kafka-features.sh."""

    def test_cluster_id(self, run: Run) -> None:
        """The cluster id has 22 characters and is the same each time."""
        first = run("kafka-cluster", "cluster-id").stdout

        assert re.fullmatch(r"Cluster ID: [\w-]{22}\n", first)
        assert run("kafka-cluster", "cluster-id").stdout == first

    def test_endpoints(self, run: Run, tools: KafkaTools, target: Target) -> None:
        """The one broker is listed with its advertised address."""
        if tools.version == "3.9.1":
            pytest.skip("list-endpoints came with Kafka 4.0")
        shown = run("kafka-cluster", "list-endpoints").stdout.split("\n")

        host, port = target.plain.split(":")
        assert shown[1].split() == ["1", host, port, "null", "unfenced", "broker"]

    def test_api_versions(self, run: Run, target: Target) -> None:
        """Every API that this issue of the protocol serves is there, at the newest version."""
        shown = run("kafka-broker-api-versions", "").stdout

        assert shown.startswith(f"{target.plain} (id: 1 rack: null")
        newest = dict(re.findall(r"\t(\w+)\(\d+\): \d+(?: to (\d+))?", shown))
        wanted = {
            "Metadata": "13",
            "FindCoordinator": "6",
            "DescribeGroups": "6",
            "ListGroups": "5",
            "SaslHandshake": "1",
            "CreateTopics": "7",
            "DeleteTopics": "6",
            "DescribeAcls": "3",
            "CreateAcls": "3",
            "DeleteAcls": "3",
            "DescribeConfigs": "4",
            "SaslAuthenticate": "2",
            "DescribeCluster": "2",
        }
        assert {name: newest.get(name) for name in wanted} == wanted

    def test_features(self, tools: KafkaTools, target: Target) -> None:
        """metadata.version is finalized, by which other tools know the release.

        The tool of 3.9.1 has no names for the levels of later releases.
        """
        done = tools.run("kafka-features", "--bootstrap-server", target.plain, "describe")

        level = r"(3|4)\.\d-IV\d+" if tools.version == "4.3.1" else r"\S+"
        line = rf"Feature: metadata\.version\s.*FinalizedVersionLevel: {level}\s"
        assert re.search(line, done.stdout), done

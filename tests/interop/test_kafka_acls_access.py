"""kafka-acls.sh: who may use it, through which listener, and what it and the server refuse.

The expectations hold on Kafka 4.3.1.
"""

import re
from collections.abc import Callable

import pytest

from testkit.kafka_acl_rows import Acls, allow, listed
from testkit.kafka_target import Target
from testkit.kafka_tools import Done, KafkaTools

Run = Callable[..., Done]


@pytest.fixture
def refuse(tools: KafkaTools, target: Target, acls: Acls) -> Run:
    """Run kafka-acls, which must fail and leave the ACLs alone."""

    def command(line: str) -> Done:
        before = acls.now()
        done = tools.run("kafka-acls", "--bootstrap-server", target.plain, *line.split())
        assert done.status == 1, done
        assert acls.now() == before
        return done

    return command


class TestController:
    """--bootstrap-controller, which Kafka 4.0 brought to this tool."""

    @pytest.fixture
    def through(self, kafka_tools: Callable[[str], KafkaTools], acls: Acls) -> Run:
        """Run kafka-acls of 4.3.1 against a controller's address."""

        def command(address: str, line: str) -> Done:
            tools = kafka_tools("4.3.1")
            return tools.run("kafka-acls", "--bootstrap-controller", address, *line.split())

        return command

    def test_add_list_remove(self, through: Run, target: Target, acls: Acls) -> None:
        """ACLs are managed through the controller listener as through a broker's."""
        made = allow("User:bob", "WRITE DESCRIBE CREATE", "TOPIC t")

        added = through(target.controller, "--add --allow-principal User:bob --producer --topic t")
        assert added.status == 0, added
        assert acls.are(made)
        assert listed(through(target.controller, "--list --topic t")) == made

        assert through(target.controller, "--remove --force --topic t").status == 0
        assert acls.are(frozenset())

    def test_broker_is_no_controller(self, through: Run, target: Target) -> None:
        """On a broker's listener the option fails and says that it is no controller."""
        done = through(target.plain, "--list")

        assert done.status == 1
        assert "MismatchedEndpointTypeException" in done.text
        assert (
            "The request was sent to an endpoint of type BROKER, "
            "but we wanted an endpoint of type CONTROLLER" in done.text
        )

    def test_controller_is_no_broker(self, tools: KafkaTools, target: Target) -> None:
        """--bootstrap-server on the controller listener fails: Metadata is not served there."""
        done = tools.run("kafka-acls", "--bootstrap-server", target.controller, "--list")

        assert done.status == 1
        assert "UnsupportedVersionException: The node does not support METADATA" in done.text


class TestUsers:
    """--command-config with SASL PLAIN."""

    @pytest.fixture
    def as_user(
        self,
        tools: KafkaTools,
        target: Target,
        acls: Acls,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> Run:
        """Run kafka-acls as a user of the SASL listener."""

        def command(user: str, line: str, password: str | None = None) -> Done:
            file = tmp_path_factory.mktemp("client") / "client.properties"
            config = target.config(user, password)
            file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
            words = ("--bootstrap-server", target.sasl, "--command-config", str(file))
            return tools.run("kafka-acls", *words, *line.split())

        return command

    def test_super_user(self, as_user: Run, acls: Acls) -> None:
        """A super user who authenticated manages ACLs."""
        assert as_user("admin", "--add --allow-principal User:bob --topic t").status == 0
        assert acls.are(allow("User:bob", "ALL", "TOPIC t"))
        assert listed(as_user("admin", "--list")) == allow("User:bob", "ALL", "TOPIC t")
        assert as_user("admin", "--remove --force --topic t").status == 0
        assert acls.are(frozenset())

    @pytest.mark.parametrize(
        ("line", "needed"),
        [
            ("--list", "DESCRIBE"),
            ("--add --allow-principal User:alice --topic t", "DESCRIBE"),
            ("--remove --force --topic t", "ALTER"),
        ],
    )
    def test_refused(
        self, as_user: Run, tools: KafkaTools, acls: Acls, line: str, needed: str
    ) -> None:
        """A user without rights is told which one is missing, and nothing changes.

        --add asks first for what is there, since Kafka 4.0.
        """
        kept = acls.put(allow("User:bob", "READ", "TOPIC t"))

        done = as_user("alice", line)

        if tools.version == "3.9.1" and "--add" in line:
            needed = "ALTER"
        assert done.status == 1
        refusal = rf"ClusterAuthorizationException: Request .* needs {needed} permission"
        assert re.search(refusal, done.text)
        assert acls.are(kept)

    def test_describe_alone(self, as_user: Run, acls: Acls) -> None:
        """Describe on the cluster lets a user list, and neither add nor remove."""
        kept = acls.put(allow("User:alice", "DESCRIBE", "CLUSTER kafka-cluster"))

        assert listed(as_user("alice", "--list")) == kept
        for line in ("--add --allow-principal User:alice --topic t", "--remove --force --cluster"):
            done = as_user("alice", line)
            assert done.status == 1
            assert "ClusterAuthorizationException" in done.text
        assert acls.are(kept)

    def test_alter(self, as_user: Run, acls: Acls) -> None:
        """Alter on the cluster lets a user list, add and remove: it implies Describe."""
        kept = acls.put(allow("User:alice", "ALTER", "CLUSTER kafka-cluster"))

        assert as_user("alice", "--add --allow-principal User:bob --topic t").status == 0
        assert acls.are(kept | allow("User:bob", "ALL", "TOPIC t"))
        assert as_user("alice", "--remove --force --topic t").status == 0
        assert acls.are(kept)

    @pytest.mark.parametrize(("user", "password"), [("alice", "wrong"), ("nobody", "secret")])
    def test_wrong_password(self, as_user: Run, user: str, password: str) -> None:
        """A wrong password and an unknown user fail alike, with an authentication error."""
        done = as_user(user, "--list", password)

        assert done.status == 1
        assert "SaslAuthenticationException" in done.text
        assert "Authentication failed: Invalid username or password" in done.text


MISUSE = (
    ("", "Command must include exactly one action: --list, --add, --remove."),
    ("--list --add", "Command must include exactly one action: --list, --add, --remove."),
    (
        "--add --topic t",
        "You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.",
    ),
    (
        "--add --allow-principal User:bob",
        "You must provide at least one resource: --topic <topic> or --cluster or --group <group>",
    ),
    (
        "--remove --principal User:bob --topic t",
        "The --principal option is only available if --list is set",
    ),
    (
        "--add --allow-principal User:bob --producer",
        "With --producer you must specify a --topic",
    ),
    (
        "--add --allow-principal User:bob --consumer --topic t",
        "With --consumer you must specify a --topic and a --group",
    ),
    (
        "--add --allow-principal User:bob --idempotent --topic t",
        "The --idempotent option is only available if --producer is set",
    ),
    (
        "--add --allow-principal User:bob --topic t --resource-pattern-type match",
        "A '--resource-pattern-type' value of 'MATCH' is not valid when adding acls.",
    ),
    (
        "--add --allow-principal User:bob --topic t --resource-pattern-type any",
        "A '--resource-pattern-type' value of 'ANY' is not valid when adding acls.",
    ),
    (
        "--add --allow-principal User:bob --operation Read --cluster",
        "ResourceType CLUSTER only supports operations",
    ),
    (
        "--add --allow-principal User:bob --operation IdempotentWrite --topic t",
        "ResourceType TOPIC only supports operations",
    ),
    (
        "--add --deny-principal User:bob --producer --topic t",
        'Option "[producer]" can\'t be used with option "[deny-principal]"',
    ),
    ("--add --allow-principal User:bob --operation Fly --topic t", "ResourceType TOPIC only"),
    (
        "--add --allow-principal bob --topic t",
        "expected a string in format principalType:principalName but got bob",
    ),
)


class TestMisuse:
    """What the tool refuses, alone or after asking the server."""

    @pytest.mark.parametrize(("line", "text"), MISUSE)
    def test_refused(self, refuse: Run, line: str, text: str) -> None:
        """A command that makes no sense says why, exits 1 and changes nothing."""
        assert text in refuse(line).text

    def test_empty_name(self, tools: KafkaTools, target: Target, acls: Acls) -> None:
        """The server refuses a resource without a name."""
        words = ("--add", "--allow-principal", "User:bob", "--topic", "")
        done = tools.run("kafka-acls", "--bootstrap-server", target.plain, *words)

        assert done.status == 1
        assert "InvalidRequestException: Invalid empty resource name" in done.text
        assert acls.now() == frozenset()


def test_without_authorizer(tools: KafkaTools, start_target: Callable[..., Target]) -> None:
    """A server without an authorizer answers that security is disabled."""
    open_target = start_target(authorizer_class_name="")
    try:
        for line in ("--list", "--add --allow-principal User:bob --topic t"):
            done = tools.run("kafka-acls", "--bootstrap-server", open_target.plain, *line.split())
            assert done.status == 1
            assert "SecurityDisabledException" in done.text
            assert "No Authorizer is configured" in done.text
    finally:
        open_target.close()


def test_two_phase_commit(
    kafka_tools: Callable[[str], KafkaTools], target: Target, acls: Acls
) -> None:
    """The operation of Kafka 4.1 is stored and listed; the older tool shows it as UNKNOWN."""
    new, old = kafka_tools("4.3.1"), kafka_tools("3.9.1")
    words = "--add --allow-principal User:bob --operation TwoPhaseCommit --transactional-id x"

    assert new.run("kafka-acls", "--bootstrap-server", target.plain, *words.split()).status == 0

    assert acls.are(allow("User:bob", "TWO_PHASE_COMMIT", "TRANSACTIONAL_ID x"))
    assert listed(old.run("kafka-acls", "--bootstrap-server", target.plain, "--list")) == allow(
        "User:bob", "UNKNOWN", "TRANSACTIONAL_ID x"
    )

"""kafka-acls.sh of both releases: every option, and the set of ACLs that each command leaves.

The expectations hold on Kafka 4.3.1 and 4.4.0 (DOORKEEPER_INTEROP_TARGET=kafka runs them there).
"""

from collections.abc import Callable

import pytest

from testkit.kafka_acl_rows import Acls, Rows, allow, deny, listed
from testkit.kafka_jars import BROKERS
from testkit.kafka_target import Target
from testkit.kafka_tools import Done, KafkaTools, command, run_on_terminal, run_process

pytestmark = pytest.mark.parametrize("target", BROKERS, indirect=True)

Run = Callable[..., Done]

TOPIC = "All Alter AlterConfigs Create Delete Describe DescribeConfigs Read Write"
SUPPORTED = {
    "TOPIC": ("--topic t", "TOPIC t", TOPIC),
    "GROUP": ("--group g", "GROUP g", "All Delete Describe Read"),
    "CLUSTER": (
        "--cluster",
        "CLUSTER kafka-cluster",
        "All Alter AlterConfigs ClusterAction Create Describe DescribeConfigs IdempotentWrite",
    ),
    "TRANSACTIONAL_ID": ("--transactional-id x", "TRANSACTIONAL_ID x", "All Describe Write"),
    "DELEGATION_TOKEN": ("--delegation-token d", "DELEGATION_TOKEN d", "All Describe"),
    "USER": ("--user-principal User:o", "USER User:o", "All CreateTokens DescribeTokens"),
}
"""Option, resource, and the operations that both releases' tools accept for it."""


def rows(*parts: Rows) -> Rows:
    """Return the union of several sets."""
    return frozenset().union(*parts)


@pytest.fixture
def run(tools: KafkaTools, target: Target, acls: Acls) -> Run:
    """Run kafka-acls against the target's open listener; it must succeed."""

    def command(line: str, *words: str) -> Done:
        done = tools.run("kafka-acls", "--bootstrap-server", target.plain, *line.split(), *words)
        assert done.status == 0, done
        return done

    return command


class TestAdd:
    """--add."""

    def test_one(self, run: Run, acls: Acls) -> None:
        """One principal and one operation make one ACL, which the command prints back."""
        done = run("--add --allow-principal User:bob --operation Read --topic t")

        assert acls.are(allow("User:bob", "READ", "TOPIC t"))
        assert listed(done) == allow("User:bob", "READ", "TOPIC t")
        assert done.stdout.startswith("Adding ACLs for resource `ResourcePattern(")

    def test_again(self, run: Run, tools: KafkaTools, acls: Acls) -> None:
        """Adding what is there succeeds (4.x says so), and adds what is not."""
        acls.put(allow("User:bob", "READ", "TOPIC t"))

        done = run("--add --allow-principal User:bob --operation Read --operation Write --topic t")

        assert acls.are(allow("User:bob", "READ WRITE", "TOPIC t"))
        known = "entry=(principal=User:bob, host=*, operation=READ, permissionType=ALLOW)"
        assert (f"{known}) already exists." in done.stdout) == (tools.version == "4.3.1")

    def test_default_operation(self, run: Run, acls: Acls) -> None:
        """Without --operation the ACL is for All."""
        run("--add --allow-principal User:bob --topic t")

        assert acls.are(allow("User:bob", "ALL", "TOPIC t"))

    def test_product(self, run: Run, acls: Acls) -> None:
        """Principals, hosts, operations and resources multiply."""
        run(
            "--add --allow-principal User:bob --allow-principal User:eve --allow-host 198.51.100.0"
            " --allow-host 198.51.100.1 --operation Read --operation Write --topic t --topic u"
        )

        hosts = ("198.51.100.0", "198.51.100.1")
        assert acls.are(
            rows(
                *(
                    allow(who, "READ WRITE", on, hosts=hosts)
                    for who in ("User:bob", "User:eve")
                    for on in ("TOPIC t", "TOPIC u")
                )
            )
        )

    def test_deny(self, run: Run, acls: Acls) -> None:
        """--deny-principal without --deny-host denies from every host."""
        run("--add --deny-principal User:bob --operation Read --topic t")

        assert acls.are(deny("User:bob", "READ", "TOPIC t"))

    def test_allow_and_deny(self, run: Run, acls: Acls) -> None:
        """One command may allow one principal and deny another, each with hosts of its own."""
        run(
            "--add --allow-principal User:* --allow-host * --deny-principal User:bad"
            " --deny-host 198.51.100.3 --operation Read --topic t"
        )

        assert acls.are(
            allow("User:*", "READ", "TOPIC t")
            | deny("User:bad", "READ", "TOPIC t", hosts=["198.51.100.3"])
        )

    @pytest.mark.parametrize("kind", SUPPORTED)
    def test_supported_operations(self, run: Run, acls: Acls, kind: str) -> None:
        """Each resource type takes each operation that Kafka defines for it."""
        option, on, operations = SUPPORTED[kind]
        words = [word for each in operations.split() for word in ("--operation", each)]

        run(f"--add --allow-principal User:bob {option}", *words)

        names = {
            "AlterConfigs": "ALTER_CONFIGS",
            "ClusterAction": "CLUSTER_ACTION",
            "CreateTokens": "CREATE_TOKENS",
            "DescribeConfigs": "DESCRIBE_CONFIGS",
            "DescribeTokens": "DESCRIBE_TOKENS",
            "IdempotentWrite": "IDEMPOTENT_WRITE",
        }
        wire = " ".join(names.get(each, each.upper()) for each in operations.split())
        assert acls.are(allow("User:bob", wire, on))

    def test_prefixed(self, run: Run, acls: Acls) -> None:
        """--resource-pattern-type prefixed makes prefixed ACLs on every named resource."""
        run(
            "--add --allow-principal User:bob --operation Describe --topic t- --group g-"
            " --transactional-id x- --resource-pattern-type prefixed"
        )

        assert acls.are(
            rows(
                allow("User:bob", "DESCRIBE", "TOPIC t- PREFIXED"),
                allow("User:bob", "DESCRIBE", "GROUP g- PREFIXED"),
                allow("User:bob", "DESCRIBE", "TRANSACTIONAL_ID x- PREFIXED"),
            )
        )

    def test_every_resource_in_one_command(self, run: Run, acls: Acls) -> None:
        """A command may name resources of all six types when they share the operation."""
        run(
            "--add --allow-principal User:bob --topic t --group g --cluster --transactional-id x"
            " --delegation-token d --user-principal User:o"
        )

        assert acls.are(rows(*(allow("User:bob", "ALL", on) for _, on, _ in SUPPORTED.values())))

    def test_other_principal_types(self, run: Run, acls: Acls) -> None:
        """A principal type is any word; names keep their commas, colons and letters."""
        principals = ["Group:ops", "User:CN=a,OU=b", "User:a:b", "User:Zoë"]
        words = [word for each in principals for word in ("--allow-principal", each)]

        run("--add --operation Read --topic t", *words)

        assert acls.are(rows(*(allow(each, "READ", "TOPIC t") for each in principals)))


class TestRoles:
    """--producer, --consumer, --idempotent, and their removal."""

    PRODUCER = allow("User:bob", "WRITE DESCRIBE CREATE", "TOPIC t")
    CONSUMER = allow("User:bob", "READ DESCRIBE", "TOPIC t") | allow("User:bob", "READ", "GROUP g")
    TRANSACTIONAL = allow("User:bob", "WRITE DESCRIBE", "TRANSACTIONAL_ID x")
    IDEMPOTENT = allow("User:bob", "IDEMPOTENT_WRITE", "CLUSTER kafka-cluster")

    CASES = (
        ("--producer --topic t", PRODUCER),
        ("--producer --topic t --transactional-id x", PRODUCER | TRANSACTIONAL),
        ("--producer --idempotent --topic t", PRODUCER | IDEMPOTENT),
        ("--consumer --topic t --group g", CONSUMER),
        ("--producer --consumer --topic t --group g", PRODUCER | CONSUMER),
        (
            "--producer --idempotent --consumer --topic t --group g --transactional-id x",
            PRODUCER | CONSUMER | TRANSACTIONAL | IDEMPOTENT,
        ),
    )

    @pytest.mark.parametrize(("role", "expected"), CASES)
    def test_added_and_removed(self, run: Run, acls: Acls, role: str, expected: Rows) -> None:
        """A role's ACLs are those of the documentation, and its removal takes exactly them."""
        other = acls.put(allow("User:eve", "WRITE", "TOPIC t"))

        run(f"--add --allow-principal User:bob {role}")
        assert acls.are(expected | other)

        run(f"--remove --force --allow-principal User:bob {role}")
        assert acls.are(other)

    def test_prefixed(self, run: Run, acls: Acls) -> None:
        """A prefixed role is prefixed on topic, group and transactional id, not on the cluster."""
        run(
            "--add --allow-principal User:bob --producer --idempotent --consumer --topic t-"
            " --group g- --transactional-id x- --resource-pattern-type prefixed"
        )

        assert acls.are(
            rows(
                allow("User:bob", "WRITE DESCRIBE CREATE READ", "TOPIC t- PREFIXED"),
                allow("User:bob", "READ", "GROUP g- PREFIXED"),
                allow("User:bob", "WRITE DESCRIBE", "TRANSACTIONAL_ID x- PREFIXED"),
                self.IDEMPOTENT,
            )
        )


LITERAL = allow("User:bob", "READ", "TOPIC foo")
STAR = allow("User:eve", "READ", "TOPIC *")
FO = allow("User:bob", "WRITE", "TOPIC fo PREFIXED")
FOO = allow("User:eve", "WRITE", "TOPIC foo PREFIXED")
FOOBAR = allow("User:bob", "DESCRIBE", "TOPIC foobar PREFIXED")
GROUP = allow("User:bob", "READ", "GROUP foo")
CLUSTER = deny("User:bob", "ALTER", "CLUSTER kafka-cluster", hosts=["10.0.0.1"])
WORLD = (LITERAL, STAR, FO, FOO, FOOBAR, GROUP, CLUSTER)
TOKEN = allow("User:bob", "DESCRIBE", "DELEGATION_TOKEN d")
OWNER = allow("User:bob", "CREATE_TOKENS", "USER User:o")
TRANSACTION = allow("User:bob", "WRITE", "TRANSACTIONAL_ID x")

SELECTED = (
    ("--topic foo", rows(LITERAL)),
    ("--topic *", rows(STAR)),
    ("--topic foo --resource-pattern-type literal", rows(LITERAL)),
    ("--topic foo --resource-pattern-type prefixed", rows(FOO)),
    ("--topic foo --resource-pattern-type any", rows(LITERAL, FOO)),
    ("--topic foo --resource-pattern-type match", rows(LITERAL, STAR, FO, FOO)),
    ("--topic foobars --resource-pattern-type match", rows(STAR, FO, FOO, FOOBAR)),
    ("--topic * --resource-pattern-type match", rows(STAR)),
    ("--topic none", rows()),
    ("--group foo", rows(GROUP)),
    ("--cluster", rows(CLUSTER)),
    ("--topic foo --group foo --cluster", rows(LITERAL, GROUP, CLUSTER)),
    ("--transactional-id x", rows(TRANSACTION)),
    ("--delegation-token d", rows(TOKEN)),
    ("--user-principal User:o", rows(OWNER)),
)
"""Options that choose resources, and what they choose of the world above."""


class TestList:
    """--list."""

    @pytest.fixture
    def world(self, acls: Acls) -> Rows:
        """Give every kind of ACL."""
        return acls.put(*WORLD, TOKEN, OWNER, TRANSACTION)

    def test_everything(self, run: Run, world: Rows) -> None:
        """Without a resource it lists all ACLs."""
        assert listed(run("--list")) == world

    def test_nothing(self, run: Run) -> None:
        """With no ACL stored it lists none, and succeeds."""
        assert listed(run("--list")) == frozenset()

    @pytest.mark.parametrize(("options", "expected"), SELECTED)
    def test_resource(self, run: Run, world: Rows, options: str, expected: Rows) -> None:
        """It lists the ACLs of the resources named, as the pattern type asks."""
        assert listed(run(f"--list {options}")) == expected

    def test_principal(self, run: Run, world: Rows) -> None:
        """--principal shows that principal's ACLs only, and may be given more than once."""
        bob = {row for row in world if row[3] == "User:bob"}

        assert listed(run("--list --principal User:bob")) == bob
        assert listed(run("--list --principal User:bob --principal User:eve")) == world
        assert listed(run("--list --principal User:eve --topic foo")) == frozenset()

    def test_form(self, run: Run, tools: KafkaTools, acls: Acls) -> None:
        """What it prints is, to the letter, what it prints of a real broker."""
        acls.put(LITERAL)

        done = run("--list --topic foo")

        resource = "`ResourcePattern(resourceType=TOPIC, name=foo, patternType=LITERAL)`"
        entry = "(principal=User:bob, host=*, operation=READ, permissionType=ALLOW)"
        between, after = (": \n \t", " \n\n") if tools.version == "3.9.1" else (":\n\t", "\n\n")
        assert done.stdout == f"Current ACLs for resource {resource}{between}{entry}{after}"


class TestRemove:
    """--remove."""

    @pytest.fixture
    def world(self, acls: Acls) -> Rows:
        """Give every kind of ACL."""
        return acls.put(*WORLD, TOKEN, OWNER, TRANSACTION)

    @pytest.mark.parametrize(("options", "chosen"), SELECTED)
    def test_resource(self, run: Run, acls: Acls, world: Rows, options: str, chosen: Rows) -> None:
        """Without a principal it removes everything on the resources named, and nothing else."""
        run(f"--remove --force {options}")

        assert acls.are(world - chosen)

    def test_exact(self, run: Run, acls: Acls) -> None:
        """With principal, host and operation it removes just those."""
        acls.put(
            allow("User:bob", "READ WRITE", "TOPIC t", hosts=["*", "10.0.0.1"]),
            deny("User:bob", "READ", "TOPIC t"),
            allow("User:eve", "READ", "TOPIC t"),
        )

        run(
            "--remove --force --allow-principal User:bob --allow-host 10.0.0.1"
            " --operation Read --topic t"
        )

        assert acls.are(
            rows(
                allow("User:bob", "READ WRITE", "TOPIC t"),
                allow("User:bob", "WRITE", "TOPIC t", hosts=["10.0.0.1"]),
                deny("User:bob", "READ", "TOPIC t"),
                allow("User:eve", "READ", "TOPIC t"),
            )
        )

    def test_default_operation(self, run: Run, acls: Acls) -> None:
        """Without --operation only ACLs stored as All are removed."""
        kept = acls.put(allow("User:bob", "READ", "TOPIC t"))
        acls.put(allow("User:bob", "ALL", "TOPIC t"))

        run("--remove --force --allow-principal User:bob --topic t")

        assert acls.are(kept)

    def test_deny(self, run: Run, acls: Acls) -> None:
        """--deny-principal removes the denying ACL and leaves the allowing one."""
        kept = acls.put(allow("User:bob", "READ", "TOPIC t"))
        acls.put(deny("User:bob", "READ", "TOPIC t"))

        run("--remove --force --deny-principal User:bob --operation Read --topic t")

        assert acls.are(kept)

    def test_wildcards_are_words(self, run: Run, acls: Acls) -> None:
        """User:* and host * in a removal are names, not patterns."""
        kept = acls.put(allow("User:bob", "READ", "TOPIC t"))
        acls.put(allow("User:*", "READ", "TOPIC t"))

        run("--remove --force --allow-principal User:* --operation Read --topic t")

        assert acls.are(kept)

    def test_pattern_type_any_case(self, run: Run, acls: Acls, world: Rows) -> None:
        """The pattern type is taken in any case, as the documentation prints it."""
        run(
            "--remove --force --allow-principal User:eve --operation Write --topic foo"
            " --resource-pattern-type Prefixed"
        )

        assert acls.are(world - FOO)


class TestTerminal:
    """--remove without --force asks on a terminal."""

    @pytest.mark.parametrize(("answer", "left"), [("y", rows()), ("n", LITERAL)])
    def test_question(
        self, tools: KafkaTools, target: Target, acls: Acls, answer: str, left: Rows
    ) -> None:
        """It removes after y and leaves everything after n."""
        acls.put(LITERAL)

        words = ("--bootstrap-server", target.plain, "--remove", "--topic", "foo")
        done = run_on_terminal(
            [*command(tools.jars, "kafka-acls"), *words], answers=[("(y/n)", answer)]
        )

        assert done.status == 0, done
        assert "Are you sure you want to" in done.stdout
        assert acls.are(left)


class TestProcess:
    """The tool as a process of its own, with its real exit status."""

    def test_statuses(self, tools: KafkaTools, target: Target, acls: Acls) -> None:
        """A command that worked exits 0, and one that did not exits 1."""
        words = ("--bootstrap-server", target.plain, "--list")

        assert run_process(tools.jars, "kafka-acls", *words).status == 0
        assert run_process(tools.jars, "kafka-acls", *words, "--add").status == 1

"""Bindings as options of kafka-acls.sh."""

import pytest

from doorkeeper.acls.formats.commands import options_of
from doorkeeper.acls.model import (
    AclBinding,
    AclOperation,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from testkit.acl import PREFIXED, READ, WRITE, allow, cluster, deny, group, token, topic, user

CLUSTER = ResourcePattern(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL)
IDEMPOTENT = AclOperation.IDEMPOTENT_WRITE


@pytest.mark.parametrize(
    ("binding", "options"),
    [
        (allow("a", READ, topic("orders")),
         "--allow-principal User:a --operation Read --topic orders"),
        (deny("a", AclOperation.ALL, group("g-", PREFIXED), "10.0.0.1"),
         ("--deny-principal User:a --deny-host 10.0.0.1 --operation All --group g-"
          " --resource-pattern-type prefixed")),
        (allow("a", IDEMPOTENT, CLUSTER),
         "--allow-principal User:a --operation IdempotentWrite --cluster"),
        (allow("a", AclOperation.DESCRIBE, token("t")),
         "--allow-principal User:a --operation Describe --delegation-token t"),
        (allow("a", AclOperation.CREATE_TOKENS, user("User:b")),
         "--allow-principal User:a --operation CreateTokens --user-principal User:b"),
        (allow("a", READ, topic("-x")), "--allow-principal User:a --operation Read --topic=-x"),
    ],
)  # fmt: skip
def test_binding_is_written_as_kafka_acls_options(binding: AclBinding, options: str) -> None:
    """Every kind of resource has its option; a value with a hyphen in front is tied to its own."""
    assert options_of(binding) == options.split(" ")


@pytest.mark.parametrize(
    "binding",
    [
        allow("a", WRITE, group("g")),
        allow("a", READ, topic(" orders")),
        allow("a ", READ, topic("orders")),
        allow("a", AclOperation.ALTER, cluster("kafka-cluster", PREFIXED)),
        allow("a", AclOperation.ALTER, cluster("foo")),
        allow("a", AclOperation.ALTER, cluster("*")),
        AclBinding(topic("t"), allow("a", READ, topic("t")).entry._replace(principal="a")),
    ],
)
def test_unrepresentable_bindings_have_no_options(binding: AclBinding) -> None:
    """It refuses operations that the type does not know, and principals without a type.

    It would cut blanks off, and takes every pattern of the cluster for the literal kafka-cluster.
    """
    assert options_of(binding) is None

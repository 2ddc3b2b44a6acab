"""The plug-ins that classes of Kafka's tests bring along in Java, in Python."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from doorkeeper.plugins import (
    AuthorizationResult,
    CreateTopicPolicy,
    DefaultPrincipalBuilder,
    PolicyViolation,
    Principal,
    StandardAuthorizer,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.plugins import (
        Action,
        AuthenticationContext,
        AuthorizableRequestContext,
        TopicCreation,
    )

ALTER_USER_SCRAM_CREDENTIALS = 51

HARNESS = Principal("Harness", "harness")
"""The super user behind the objects of brokers that a test looks into."""

FORWARDED = {19, 20, 30, 31, 33, 37, 38, 39, 40, 43, 44, 45, 49, 51, 57, 64}
"""The keys of the APIs that a broker forwards to its controller, whose authorizer decides then."""

UNAUTHORIZED = Principal("User", "Unauthorized")


class UserOfListener(DefaultPrincipalBuilder):
    """Name a user after the listener: a broker, or a client."""

    def build(self, context: AuthenticationContext) -> Principal:
        return Principal("User", _role(context))


class GroupOfListener(DefaultPrincipalBuilder):
    """Name a group after the listener: brokers, or clients."""

    def build(self, context: AuthenticationContext) -> Principal:
        return Principal("Group", _role(context))


def _role(context: AuthenticationContext) -> str:
    return "broker" if context.listener_name in {"BROKER", "CONTROLLER"} else "client"


class Harness(DefaultPrincipalBuilder):
    """Build the super user of the harness."""

    def build(self, context: AuthenticationContext) -> Principal:
        return HARNESS


class Unauthorized(DefaultPrincipalBuilder):
    """Build the one principal that ``DeniesScramUpdates`` denies."""

    def build(self, context: AuthenticationContext) -> Principal:
        return UNAUTHORIZED


class Anonymous(DefaultPrincipalBuilder):
    """Build ``User:ANONYMOUS``."""

    def build(self, context: AuthenticationContext) -> Principal:
        return Principal("User", "ANONYMOUS")


class UserOfCertificate(DefaultPrincipalBuilder):
    """Name a user after a certificate with the subject ``O=A role,CN=name``."""

    _ROLES = re.compile(r"O=A (.*?),CN=(.*?)")

    def build(self, context: AuthenticationContext) -> Principal:
        if context.security_protocol == "PLAINTEXT":
            return Principal("User", "ANONYMOUS")
        found = self._ROLES.fullmatch(super().build(context).name)
        role, name = found.groups() if found is not None else ("", "")
        if role == "server" or name == "super-user":
            return Principal("User", "server")
        return Principal("User", "client" if name == "client" else "ANONYMOUS")


class DeniesScramUpdates(StandardAuthorizer):
    """Deny one principal the API that alters SCRAM credentials; allow everything else."""

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        denied = (
            context.request_type == ALTER_USER_SCRAM_CREDENTIALS
            and context.principal == UNAUTHORIZED
        )
        result = AuthorizationResult.DENIED if denied else AuthorizationResult.ALLOWED
        return [result] * len(actions)


class OfBrokersOnly(StandardAuthorizer):
    """Decide as a cluster whose brokers have the standard authorizer, its controllers none."""

    def authorize(
        self, context: AuthorizableRequestContext, actions: Sequence[Action]
    ) -> list[AuthorizationResult]:
        if context.request_type in FORWARDED:
            return [AuthorizationResult.ALLOWED] * len(actions)
        return super().authorize(context, actions)


class ManyPartitions(CreateTopicPolicy):
    """Refuse topics of few partitions, of many for long, and partitions of one replica."""

    def validate(self, request: TopicCreation) -> None:
        partitions = request.num_partitions
        if request.topic in {"__consumer_offsets", "__transaction_state"}:
            return
        for partition, replicas in (request.replicas_assignments or {}).items():
            if len(replicas) < 2:
                raise PolicyViolation(
                    "Topic partitions should have at least 2 replicas,"
                    f" received {len(replicas)} for partition {partition}"
                )
        if partitions is None:
            return
        if partitions < 5:
            raise PolicyViolation(
                f"Topics should have at least 5 partitions, received {partitions}"
            )
        if partitions > 10 and int(request.configs.get("retention.ms", "5001")) > 5000:
            raise PolicyViolation("RetentionMs should be less than 5000ms if partitions > 10")


_PACKAGE = "testkit.kafka_test_plugins"

HARNESS_BUILDER = f"{_PACKAGE}.Harness"

_GROUPS = "org.apache.kafka.clients.security.GroupAuthorizerIntegrationTest"
_ALTER, _DESCRIBE = "kafka.server.AlterCredentialsTest", "kafka.server.DescribeCredentialsTest"
_TOPICS = "org.apache.kafka.clients.CreateTopicsRequestWithPolicyTest"
_STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

STAND_INS = {
    "kafka.api.AbstractAuthorizerIntegrationTest$PrincipalBuilder": f"{_PACKAGE}.UserOfListener",
    f"{_GROUPS}$GroupPrincipalBuilder": f"{_PACKAGE}.GroupOfListener",
    f"{_ALTER}$TestPrincipalBuilderReturningAuthorized": f"{_PACKAGE}.Anonymous",
    f"{_ALTER}$TestPrincipalBuilderReturningUnauthorized": f"{_PACKAGE}.Unauthorized",
    f"{_ALTER}$TestStandardAuthorizer": f"{_PACKAGE}.DeniesScramUpdates",
    f"{_DESCRIBE}$TestPrincipalBuilderReturningAuthorized": f"{_PACKAGE}.Anonymous",
    f"{_DESCRIBE}$TestPrincipalBuilderReturningUnauthorized": f"{_PACKAGE}.Unauthorized",
    "kafka.api.SslAdminIntegrationTest$TestPrincipalBuilder": f"{_PACKAGE}.UserOfCertificate",
    "StandardAuthorizer of brokers only": f"{_PACKAGE}.OfBrokersOnly",
    # It notes the contexts of updates, and waits for a semaphore in the JVM.
    "kafka.api.SslAdminIntegrationTest$TestableStandardAuthorizer": _STANDARD,
    f"{_TOPICS}$Policy": f"{_PACKAGE}.ManyPartitions",
}
"""The path of a Python class by the name of the Java class."""

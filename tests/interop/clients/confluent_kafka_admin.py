"""Drives confluent-kafka (librdkafka), whose word for the resource type CLUSTER is BROKER."""

import conversation
from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

LIMIT_S = 10


class AuthenticationError(Exception):
    """librdkafka reports it to the error callback only and then tries again."""


class Session:
    """One AdminClient."""

    def __init__(self, bootstrap, user, password, **others):
        self.refusals = []
        config = {"bootstrap.servers": bootstrap, "error_cb": self._note, "log_level": 0}
        if user is not None:
            config |= {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": user,
                "sasl.password": password,
            }
        self.admin = AdminClient(config | others)
        self._require_login()

    def close(self):
        del self.admin

    def _note(self, error):
        if error.code() == KafkaError._AUTHENTICATION:
            self.refusals.append(error.str())

    def _require_login(self):
        """Fail as soon as the first refusal is reported, not at the time-out of a call."""
        first = self.admin.describe_cluster(request_timeout=LIMIT_S)
        while not first.done():
            self.admin.poll(0.02)
            if self.refusals:
                raise AuthenticationError(self.refusals[0])
        first.result()

    def create_acls(self, bindings):
        asked = {self._binding(words): words for words in bindings}
        created, failed = [], []
        for binding, future in self.admin.create_acls(list(asked), request_timeout=LIMIT_S).items():
            try:
                future.result()
                created.append(asked[binding])
            except KafkaException as error:
                failed.append(error.args[0].name())
        return {"created": sorted(created), "failed": sorted(failed)}

    def describe_acls(self, wanted):
        future = self.admin.describe_acls(self._filter(wanted), request_timeout=LIMIT_S)
        return sorted(self._words(acl) for acl in future.result())

    def delete_acls(self, filters):
        asked = [self._filter(words) for words in filters]
        futures = self.admin.delete_acls(asked, request_timeout=LIMIT_S).values()
        return sorted(self._words(acl) for future in futures for acl in future.result())

    def describe_cluster(self):
        future = self.admin.describe_cluster(
            include_authorized_operations=True, request_timeout=LIMIT_S
        )
        found = future.result()
        return {
            "cluster_id": found.cluster_id,
            "controller": found.controller.id,
            "nodes": [[node.id, node.host, node.port] for node in found.nodes],
            "operations": operations(found.authorized_operations),
        }

    def list_topics(self):
        return conversation.own(self.admin.list_topics(timeout=LIMIT_S).topics)

    def create_topics(self, topics):
        asked = [NewTopic(name, count, 1) for name, count in topics.items()]
        for future in self.admin.create_topics(asked, request_timeout=LIMIT_S).values():
            future.result()

    def delete_topics(self, names):
        for future in self.admin.delete_topics(names, request_timeout=LIMIT_S).values():
            future.result()

    def describe_topics(self, names):
        futures = self.admin.describe_topics(
            TopicCollection(names), include_authorized_operations=True, request_timeout=LIMIT_S
        )
        return {name: self._topic(future) for name, future in futures.items()}

    def list_groups(self):
        found = self.admin.list_consumer_groups(request_timeout=LIMIT_S).result()
        for error in found.errors:
            raise error
        return sorted(group.group_id for group in found.valid)

    def describe_groups(self, names):
        futures = self.admin.describe_consumer_groups(
            names, include_authorized_operations=True, request_timeout=LIMIT_S
        )
        return {name: self._group(future.result()) for name, future in futures.items()}

    def broker_configs(self, keys):
        resource = ConfigResource(ConfigResource.Type.BROKER, "1")
        (future,) = self.admin.describe_configs([resource], request_timeout=LIMIT_S).values()
        found = future.result()
        return {key: found[key].value for key in keys}

    @staticmethod
    def _topic(future):
        try:
            found = future.result()
        except KafkaException as error:
            return {"error": error.args[0].code()}
        return {
            "error": 0,
            "partitions": len(found.partitions),
            "operations": operations(found.authorized_operations),
        }

    @staticmethod
    def _group(found):
        members = []
        for member in found.members:
            assignment = {}
            for part in member.assignment.topic_partitions:
                assignment.setdefault(part.topic, []).append(part.partition)
            members.append(
                {
                    "client_id": member.client_id,
                    "host": member.host,
                    "instance_id": member.group_instance_id,
                    "assignment": assignment,
                }
            )
        return {
            "state": found.state.name.title(),
            "members": members,
            "operations": operations(found.authorized_operations),
        }

    @staticmethod
    def _binding(words):
        kind, name, pattern, principal, host, operation, permission = words
        return AclBinding(
            resource_type(kind),
            name,
            ResourcePatternType[pattern],
            principal,
            host,
            AclOperation[operation],
            AclPermissionType[permission],
        )

    @staticmethod
    def _filter(words):
        kind, name, pattern, principal, host, operation, permission = words
        return AclBindingFilter(
            resource_type(kind),
            name,
            ResourcePatternType[pattern],
            principal,
            host,
            AclOperation[operation],
            AclPermissionType[permission],
        )

    @staticmethod
    def _words(acl):
        kind = "CLUSTER" if acl.restype == ResourceType.BROKER else acl.restype.name
        return [
            kind,
            acl.name,
            acl.resource_pattern_type.name,
            acl.principal,
            acl.host,
            acl.operation.name,
            acl.permission_type.name,
        ]


def resource_type(name):
    """Return librdkafka's value for one of Kafka's resource types."""
    return ResourceType.BROKER if name == "CLUSTER" else ResourceType[name]


def operations(found):
    """Return operations in order; None when the server gave none."""
    return None if found is None else sorted(operation.name for operation in found)


conversation.run(Session)

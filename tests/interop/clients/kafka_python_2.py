"""Drives kafka-python 2.0.2, old and still widely pinned."""

import conversation
from kafka.admin import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    KafkaAdminClient,
    NewTopic,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)


class Session:
    """One KafkaAdminClient."""

    def __init__(self, bootstrap, user, password):
        sasl = {}
        if user is not None:
            sasl = {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": user,
                "sasl_plain_password": password,
            }
        self.admin = KafkaAdminClient(bootstrap_servers=bootstrap, **sasl)
        self.close = self.admin.close

    def create_acls(self, bindings):
        result = self.admin.create_acls([self._acl(words) for words in bindings])
        return {
            "created": sorted(self._words(acl) for acl in result["succeeded"]),
            "failed": sorted(error.__name__ for _, error in result["failed"]),
        }

    def describe_acls(self, wanted):
        acls, error = self.admin.describe_acls(self._filter(wanted))
        if error.errno:
            raise error
        return sorted(self._words(acl) for acl in acls)

    def delete_acls(self, filters):
        results = self.admin.delete_acls([self._filter(wanted) for wanted in filters])
        for _, _, error in results:
            if error.errno:
                raise error
        return sorted(self._words(acl) for _, acls, _ in results for acl, _ in acls)

    def describe_cluster(self):
        found = self.admin.describe_cluster()
        return {
            "cluster_id": found["cluster_id"],
            "controller": found["controller_id"],
            "nodes": [[b["node_id"], b["host"], b["port"]] for b in found["brokers"]],
        }

    def list_topics(self):
        return conversation.own(self.admin.list_topics())

    def create_topics(self, topics):
        self.admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()])

    def delete_topics(self, names):
        self.admin.delete_topics(names)

    def describe_topics(self, names):
        return {
            topic["topic"]: {"error": topic["error_code"], "partitions": len(topic["partitions"])}
            for topic in self.admin.describe_topics(names)
        }

    def list_groups(self):
        return sorted(name for name, _ in self.admin.list_consumer_groups())

    def describe_groups(self, names):
        return {
            group.group: self._group(group) for group in self.admin.describe_consumer_groups(names)
        }

    def broker_configs(self, keys):
        (response,) = self.admin.describe_configs([ConfigResource(ConfigResourceType.BROKER, "1")])
        ((code, text, _, _, entries),) = response.resources
        if code:
            raise RuntimeError(code, text)
        found = {entry[0]: entry[1] for entry in entries}
        return {key: found[key] for key in keys}

    @staticmethod
    def _group(group):
        return {
            "state": group.state,
            "members": [
                {
                    "client_id": member.client_id,
                    "host": member.client_host,
                    "topics": member.member_metadata.subscription,
                    "assignment": dict(member.member_assignment.assignment),
                }
                for member in group.members
            ],
        }

    @staticmethod
    def _acl(words):
        kind, name, pattern, principal, host, operation, permission = words
        return ACL(
            principal,
            host,
            ACLOperation[operation],
            ACLPermissionType[permission],
            ResourcePattern(ResourceType[kind], name, ACLResourcePatternType[pattern]),
        )

    @staticmethod
    def _filter(words):
        kind, name, pattern, principal, host, operation, permission = words
        return ACLFilter(
            principal,
            host,
            ACLOperation[operation],
            ACLPermissionType[permission],
            ResourcePatternFilter(ResourceType[kind], name, ACLResourcePatternType[pattern]),
        )

    @staticmethod
    def _words(acl):
        pattern = acl.resource_pattern
        return [
            pattern.resource_type.name,
            pattern.resource_name,
            pattern.pattern_type.name,
            acl.principal,
            acl.host,
            acl.operation.name,
            acl.permission_type.name,
        ]


conversation.run(Session)

"""Drives kafka-python 3."""

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
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)


class Session:
    """One KafkaAdminClient."""

    def __init__(self, bootstrap, user, password, **others):
        sasl = {}
        if user is not None:
            sasl = {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": user,
                "sasl_plain_password": password,
            }
        # It tells of a refused login only by the time-out of its bootstrap, 30 s if not set.
        self.admin = KafkaAdminClient(
            bootstrap_servers=bootstrap, bootstrap_timeout_ms=3000, **(sasl | others)
        )
        self.close = self.admin.close

    def create_acls(self, bindings):
        result = self.admin.create_acls([self._acl(words) for words in bindings])
        return {
            "created": sorted(self._words(acl) for acl in result["succeeded"]),
            "failed": sorted(error.__name__ for error in result["failed"]),
        }

    def describe_acls(self, wanted):
        acls, _ = self.admin.describe_acls(self._filter(wanted))
        return sorted(self._words(acl) for acl in acls)

    def delete_acls(self, filters):
        results = self.admin.delete_acls([self._filter(wanted) for wanted in filters])
        for _, _, error in results:
            if error.errno:
                raise error
        return sorted(self._words(acl) for _, acls, _ in results for acl in acls)

    def describe_cluster(self):
        found = self.admin.describe_cluster()
        return {
            "cluster_id": found["cluster_id"],
            "controller": found["controller_id"],
            "nodes": [[b["broker_id"], b["host"], b["port"]] for b in found["brokers"]],
            "operations": sorted(found["authorized_operations"]),
        }

    def list_topics(self):
        return conversation.own(self.admin.list_topics())

    def create_topics(self, topics):
        self.admin.create_topics(
            {
                name: {"num_partitions": count, "replication_factor": 1}
                for name, count in topics.items()
            }
        )

    def delete_topics(self, names):
        self.admin.delete_topics(names)

    def describe_topics(self, names):
        return {
            topic["name"]: {
                "error": topic["error_code"],
                "partitions": len(topic["partitions"]),
                "operations": operations(topic["authorized_operations"]),
            }
            for topic in self.admin.describe_topics(names)
        }

    def list_groups(self):
        return sorted(group["group_id"] for group in self.admin.list_groups())

    def describe_groups(self, names):
        found = self.admin.describe_groups(names, include_authorized_operations=True)
        return {name: self._group(group) for name, group in found.items()}

    def broker_configs(self, keys):
        resource = ConfigResource(ConfigResourceType.BROKER, "1")
        found = self.admin.describe_configs([resource], config_filter="all")["broker"]["1"]
        return {key: found[key]["value"] for key in keys}

    @staticmethod
    def _group(group):
        if group["error"]:
            return {"error": group["error"]}
        return {
            "state": group["group_state"],
            "members": [
                {
                    "client_id": member["client_id"],
                    "host": member["client_host"],
                    "instance_id": member["group_instance_id"],
                    "topics": member["member_metadata"]["topics"],
                    "assignment": {
                        part["topic"]: part["partitions"]
                        for part in member["member_assignment"]["assigned_partitions"]
                    },
                }
                for member in group["members"]
            ],
            "operations": operations(group["authorized_operations"]),
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


def operations(names):
    """Return operations in order; None when the server gave none."""
    return None if names is None else sorted(names)


conversation.run(Session)

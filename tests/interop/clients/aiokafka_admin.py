"""Drives aiokafka: its admin client, and its low-level ACL requests, for which it has no call."""

import asyncio

import conversation
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code
from aiokafka.protocol.admin import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest

KINDS = (
    *("UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER"),
    *("TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"),
)
PATTERNS = ("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")
OPERATIONS = (
    *("UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE"),
    *("CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE"),
    *("CREATE_TOKENS", "DESCRIBE_TOKENS"),
)
PERMISSIONS = ("UNKNOWN", "ANY", "DENY", "ALLOW")
"""The protocol's codes are the places in these tuples."""


class Session:
    """One AIOKafkaAdminClient in an event loop of its own."""

    def __init__(self, bootstrap, user, password):
        self.loop = asyncio.new_event_loop()
        sasl = {}
        if user is not None:
            sasl = {
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_plain_username": user,
                "sasl_plain_password": password,
            }
        self.loop.run_until_complete(self._open(bootstrap, sasl))

    async def _open(self, bootstrap, sasl):
        self.admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, **sasl)
        try:
            await self.admin.start()
        except BaseException:
            await self.admin.close()
            raise

    def _run(self, awaitable):
        return self.loop.run_until_complete(awaitable)

    def close(self):
        self._run(self.admin.close())
        self.loop.close()

    def create_acls(self, bindings):
        created, failed = [], []
        for words in bindings:
            response = self._run(self.admin._send_request(CreateAclsRequest(*codes(words))))
            for code, _ in response.creation_responses:
                if code:
                    failed.append(for_code(code).__name__)
                else:
                    created.append(words)
        return {"created": sorted(created), "failed": sorted(failed)}

    def describe_acls(self, wanted):
        response = self._run(self.admin._send_request(DescribeAclsRequest(*codes(wanted))))
        check(response.error_code)
        return sorted(
            words(kind, name, pattern, *entry)
            for kind, name, pattern, entries in response.resources
            for entry in entries
        )

    def delete_acls(self, filters):
        removed = []
        for wanted in filters:
            response = self._run(self.admin._send_request(DeleteAclsRequest(*codes(wanted))))
            for code, _, matching in response.filter_responses:
                check(code)
                removed += [words(*acl[2:]) for acl in matching]
        return sorted(removed)

    def describe_cluster(self):
        found = self._run(self.admin.describe_cluster())
        return {
            "cluster_id": found["cluster_id"],
            "controller": found["controller_id"],
            "nodes": [[b["node_id"], b["host"], b["port"]] for b in found["brokers"]],
        }

    def list_topics(self):
        return conversation.own(self._run(self.admin.list_topics()))

    def create_topics(self, topics):
        asked = [NewTopic(name, count, 1) for name, count in topics.items()]
        for _, code, _ in self._run(self.admin.create_topics(asked)).topic_errors:
            check(code)

    def delete_topics(self, names):
        for _, code in self._run(self.admin.delete_topics(names)).topic_error_codes:
            check(code)

    def describe_topics(self, names):
        return {
            topic["topic"]: {"error": topic["error_code"], "partitions": len(topic["partitions"])}
            for topic in self._run(self.admin.describe_topics(names))
        }

    def list_groups(self):
        return sorted(group[0] for group in self._run(self.admin.list_consumer_groups()))

    def describe_groups(self, names):
        groups = {}
        for response in self._run(self.admin.describe_consumer_groups(names)):
            for code, name, state, _, _, members, *_ in response.groups:
                check(code)
                groups[name] = {
                    "state": state,
                    "members": [{"client_id": m[1], "host": m[2]} for m in members],
                }
        return groups

    def broker_configs(self, keys):
        resource = ConfigResource(ConfigResourceType.BROKER, "1")
        (response,) = self._run(self.admin.describe_configs([resource]))
        ((code, _, _, _, entries),) = response.resources
        check(code)
        found = {entry[0]: entry[1] for entry in entries}
        return {key: found[key] for key in keys}


def check(code):
    """Raise aiokafka's error for a code of the protocol."""
    if code:
        raise for_code(code)


def codes(binding):
    """Return the arguments of an ACL request: Kafka's words as the protocol's codes."""
    kind, name, pattern, principal, host, operation, permission = binding
    return (
        KINDS.index(kind),
        name,
        PATTERNS.index(pattern),
        principal,
        host,
        OPERATIONS.index(operation),
        PERMISSIONS.index(permission),
    )


def words(kind, name, pattern, principal, host, operation, permission):
    """Return a binding in Kafka's words."""
    return [
        KINDS[kind],
        name,
        PATTERNS[pattern],
        principal,
        host,
        OPERATIONS[operation],
        PERMISSIONS[permission],
    ]


conversation.run(Session)

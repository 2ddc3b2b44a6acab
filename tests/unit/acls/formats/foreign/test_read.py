"""Files of other tools: read as the tool's own cluster has them, or refused by name."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doorkeeper.acls.formats.choosing import Format, format_of, read, read_set
from doorkeeper.acls.formats.foreign import rows
from doorkeeper.acls.formats.names import FormatError, NoAcls
from doorkeeper.acls.model import AclOperation, PatternType, ResourcePattern, ResourceType
from testkit.acl import PREFIXED, READ, WRITE, allow, cluster, deny, group, topic

CLUSTER = cluster("kafka-cluster")


def transactional_id(name: str) -> ResourcePattern:
    """Return the pattern of one transactional id."""
    return ResourcePattern(ResourceType.TRANSACTIONAL_ID, name, PatternType.LITERAL)


USERS = """
# of two teams
---
apiVersion: kafka.strimzi.io/v1beta2
kind: KafkaUser
metadata:
  name: till
  labels: {strimzi.io/cluster: shop}
spec:
  authentication: {type: tls}
  authorization:
    type: simple
    acls:
      - resource: {type: topic, name: sale-, patternType: prefix}
        operations: [Read, Write]
      - resource: {type: group, name: till, patternType: literal}
        operation: Read
        host: 10.1.2.3
      - {resource: {type: cluster}, operations: [IdempotentWrite]}
      - {resource: {type: transactionalId, name: till-1}, operations: [All], type: deny}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata: {name: sale-1}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaUser
metadata: {name: desk}
spec:
  authentication: {type: scram-sha-512}
  authorization:
    {type: simple, acls: [{resource: {type: topic, name: "*"}, operations: [Describe]}]}
"""
USER_ACLS = [
    allow("User:CN=till", READ, topic("sale-", PREFIXED)),
    allow("User:CN=till", WRITE, topic("sale-", PREFIXED)),
    allow("User:CN=till", READ, group("till"), "10.1.2.3"),
    allow("User:CN=till", AclOperation.IDEMPOTENT_WRITE, CLUSTER),
    deny("User:CN=till", AclOperation.ALL, transactional_id("till-1")),
    allow("desk", AclOperation.DESCRIBE, topic("*")),
]


def test_read_strimzi_users() -> None:
    found = read_set(USERS)

    assert format_of(USERS) is format_of(USERS, "users.yaml") is Format.STRIMZI
    assert (found.bindings, found.cluster) == (USER_ACLS, "shop")
    assert [found.line_of_binding(index) for index in range(6)] == [14, 14, 16, 19, 20, 32]


def test_read_kubectl_list() -> None:
    user = {
        "apiVersion": "eventstreams.ibm.com/v1beta2",
        "kind": "KafkaUser",
        "metadata": {"name": "mill", "resourceVersion": "7"},
        "spec": {
            "authorization": {
                "type": "simple",
                "acls": [{"resource": {"type": "topic", "name": "flour"}, "operations": ["Read"]}],
            }
        },
        "status": {"username": "mill"},
    }
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [user]})

    assert read(text) == read(text, name="users.yaml") == [allow("mill", READ, topic("flour"))]


ROLES = """
apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaPrincipalRole
metadata: {name: reader}
spec:
  acls:
    - {resource: {type: topic, pattern: rain, patternType: LITERAL}, type: ALLOW,
       operations: [READ], host: "*"}
---
apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaPrincipalAuthorization
metadata: {name: "User:gauge"}
spec:
  roles: [reader]
  acls:
    - resource: {type: group, pattern: gauge-, patternType: PREFIXED}
      type: DENY
      operations: [DELETE]
      host: 10.9.9.9
---
apiVersion: kafka.jikkou.io/v1beta2
kind: KafkaPrincipalAuthorization
metadata: {name: "User:gone", annotations: {jikkou.io/delete: true}}
spec: {roles: [reader]}
"""


def test_read_jikkou_authorizations() -> None:
    assert format_of(ROLES) is Format.JIKKOU
    assert read(ROLES) == [
        deny("gauge", AclOperation.DELETE, group("gauge-", PREFIXED), "10.9.9.9"),
        allow("gauge", READ, topic("rain")),
    ]


def _state(*resources: dict[str, Any]) -> dict[str, Any]:
    return {"version": 4, "terraform_version": "1.9.5", "serial": 3, "resources": list(resources)}


def _resource(kind: str, *attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    instances = [
        {"schema_version": 1, "index_key": index, "attributes": each}
        for index, each in enumerate(attributes)
    ]
    return {"mode": "managed", "type": kind, "name": "it", "instances": instances, **more}


MONGEY = {
    "id": "User:kiln|*|Write|Allow|Topic|clay|Prefixed",
    "acl_host": "*",
    "acl_operation": "Write",
    "acl_permission_type": "Allow",
    "acl_principal": "User:kiln",
    "resource_name": "clay",
    "resource_pattern_type_filter": "Prefixed",
    "resource_type": "Topic",
}
CONFLUENT = {
    "resource_type": "TRANSACTIONAL_ID",
    "resource_name": "oven",
    "pattern_type": "LITERAL",
    "principal": "User:sa-1",
    "host": "*",
    "operation": "DESCRIBE",
    "permission": "DENY",
    "credentials": [{"key": "K", "secret": "hidden-in-no-error"}],
    "kafka_cluster": [{"id": "lkc-1"}],
}
OLD = {key: value for key, value in MONGEY.items() if key != "resource_pattern_type_filter"}


def test_read_terraform_state() -> None:
    text = json.dumps(
        _state(
            _resource("kafka_topic", {"name": "clay"}),
            _resource("kafka_acl", MONGEY, OLD, module="module.a"),
            _resource("kafka_acl", MONGEY, mode="data"),
            _resource("confluent_kafka_acl", CONFLUENT),
        )
    )
    found = read_set(text, name="terraform.tfstate")

    assert format_of(text) is Format.TERRAFORM
    assert found.cluster == "lkc-1"
    assert found.bindings == [
        allow("kiln", WRITE, topic("clay", PREFIXED)),
        allow("kiln", WRITE, topic("clay")),
        deny("sa-1", AclOperation.DESCRIBE, transactional_id("oven")),
    ]


@pytest.mark.parametrize("member", ["values", "planned_values"])
def test_read_terraform_show_output(member: str) -> None:
    resource = {
        "address": "module.a.kafka_acl.it",
        "mode": "managed",
        "type": "kafka_acl",
        "values": MONGEY,
    }
    module = {"child_modules": [{"child_modules": [{"resources": [resource]}]}]}
    document = {
        "format_version": "1.0",
        "terraform_version": "1.9.5",
        "prior_state": {"values": {}},
        member: {"root_module": module},
    }

    assert read(json.dumps(document)) == [allow("kiln", WRITE, topic("clay", PREFIXED))]


@pytest.mark.parametrize("word", ["acl_host", "resource_pattern_type_filter"])
def test_value_known_only_after_apply_has_no_default(word: str) -> None:
    """A host that only the apply computes would be all hosts."""
    attributes = {name: value for name, value in MONGEY.items() if name != word}
    resource = {"address": "a", "mode": "managed", "type": "kafka_acl", "values": attributes}
    document = {
        "format_version": "1.2",
        "terraform_version": "1.9.5",
        "planned_values": {"root_module": {"resources": [resource]}},
    }

    with pytest.raises(FormatError, match=f"no value for {word}; if it is known only after apply"):
        read(json.dumps(document))


def test_failed_terraform_plan_is_rejected() -> None:
    """It lacks what was not planned any more: with --whole these ACLs would be removed."""
    resource = {"address": "a", "mode": "managed", "type": "kafka_acl", "values": MONGEY}
    document = {
        "format_version": "1.2",
        "terraform_version": "1.9.5",
        "planned_values": {"root_module": {"resources": [resource]}},
        "errored": True,
    }

    with pytest.raises(FormatError, match="planning failed, so that some ACLs may be missing"):
        read(json.dumps(document))
    assert read(json.dumps({**document, "errored": False}))


RPK = """PRINCIPAL            HOST      RESOURCE-TYPE  RESOURCE-NAME  RESOURCE-PATTERN-TYPE  OPERATION  PERMISSION  ERROR
User:öl mill         *         TOPIC          oil-           PREFIXED               ALL        ALLOW       
RedpandaRole:press   10.0.0.7  CLUSTER        kafka-cluster  LITERAL                ALTER      DENY        
User:öl mill         *         SUBJECT        oil            LITERAL                READ       ALLOW       
"""  # noqa: E501, W291  the columns of the tool
FILTERED = f"""FILTERS
=======
PRINCIPAL  HOST  RESOURCE-TYPE  RESOURCE-NAME  RESOURCE-PATTERN-TYPE  OPERATION  PERMISSION  ERROR
                 ANY                           ANY                    ANY        ANY         

MATCHES
=======
{RPK}"""  # noqa: W291
RPK_ACLS = [
    allow("öl mill", AclOperation.ALL, topic("oil-", PREFIXED)),
    deny("RedpandaRole:press", AclOperation.ALTER, CLUSTER, "10.0.0.7"),
]


def test_read_rpk_output() -> None:
    """As a table, with its filters, and as JSON; subjects of a registry are no ACLs of Kafka."""
    keys = ("principal", "host", "resource_type", "resource_name", "resource_pattern_type")
    document = {
        "matches": [
            dict(zip((*keys, "operation", "permission"), cells, strict=True))
            for cells in (
                ("User:öl mill", "*", "TOPIC", "oil-", "PREFIXED", "ALL", "ALLOW"),
                (
                    "RedpandaRole:press",
                    "10.0.0.7",
                    "CLUSTER",
                    CLUSTER.name,
                    "LITERAL",
                    "ALTER",
                    "DENY",
                ),
                ("User:öl mill", "*", "SUBJECT", "oil", "LITERAL", "READ", "ALLOW"),
            )
        ]
    }

    for text in (RPK, FILTERED, json.dumps(document)):
        assert format_of(text, "acls.txt") in (Format.RPK, Format.KAFKA)
        assert format_of(text) is Format.RPK
        assert read(text) == RPK_ACLS
    assert read(RPK, name="acls.txt") == RPK_ACLS


def test_read_confluent_output() -> None:
    row = {
        "principal": "User:sa-2",
        "permission": "ALLOW",
        "operation": "DESCRIBE_CONFIGS",
        "resource_type": "TOPIC",
        "resource_name": "ink",
        "pattern_type": "LITERAL",
    }
    text = json.dumps([row, row | {"host": "10.0.0.1"}])
    wanted = [
        allow("sa-2", AclOperation.DESCRIBE_CONFIGS, topic("ink"), host)
        for host in ("*", "10.0.0.1")
    ]

    assert format_of(text) is format_of(text, "acls.yaml") is Format.CONFLUENT
    assert read(text) == read(text, name="acls.yaml") == wanted


def test_read_julie_state() -> None:
    row = {
        "resourceType": "GROUP",
        "resourceName": "loom",
        "host": "*",
        "operation": "READ",
        "principal": "User:loom",
        "pattern": "LITERAL",
    }
    text = json.dumps({"bindings": [row], "accounts": [], "topics": [], "connectors": []})

    assert format_of(text) is Format.JULIE
    assert read(text) == [allow("loom", READ, group("loom"))]


def test_read_unquoted_commas_of_kafka_ui() -> None:
    header = "Principal,ResourceType,PatternType,ResourceName,Operation,PermissionType,Host"
    row = "User:CN=a,OU=b,GROUP,PREFIXED,c,d,READ,ALLOW,*"

    assert read(f"{header}\n{row}\n") == [allow("User:CN=a,OU=b", READ, group("c,d", PREFIXED))]
    with pytest.raises(FormatError, match="line 2: found 10 fields; expected: 7"):
        read(f"{header}\nUser:a,TOPIC,LITERAL,TOPIC,LITERAL,x,y,READ,ALLOW,*\n")
    with pytest.raises(FormatError, match="line 2: found 9 fields; expected: 7"):
        read(f"Kafka{header}\n{row}\n")


def _user(**changes: Any) -> str:
    acl = {"resource": {"type": "topic", "name": "t"}, "operations": ["Read"], **changes}
    spec = {"authorization": {"type": "simple", "acls": [acl]}}
    return json.dumps(
        {
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": "KafkaUser",
            "metadata": {"name": "u"},
            "spec": spec,
        },
        indent=1,
    )


def _confluent(*changes: dict[str, Any]) -> str:
    return json.dumps(
        _state(*(_resource("confluent_kafka_acl", CONFLUENT | each) for each in changes)), indent=1
    )


REFUSED = [
    (
        "topology of julie",
        "context: c\nprojects: [{name: p, consumers: []}]\n",
        "kafka://HOST:PORT",
    ),
    ("terraform's language", '# acls\nresource "kafka_acl" "it" {\n}\n', "terraform show -json"),
    ("old state", '{"version": 3, "terraform_version": "0.11.1"}', "terraform state pull"),
    ("a table", " Principal | Permission | Operation\n", "confluent kafka acl list -o json"),
    ("old rpk", "PRINCIPAL  HOST  OPERATION  PERMISSION TYPE\n", "rpk security acl list"),
    ("old jikkou", "apiVersion: kafka.jikkou.io/v1\nkind: KafkaAuthorizationList\n", "jikkou get"),
    ("a regular expression", ROLES.replace("LITERAL", "MATCH"), "line 7: .*jikkou get"),
    ("a role elsewhere", ROLES.replace("[reader]", "[writer]"), "line 14: .*'writer' is not in"),
    ("a chart", "apiVersion: v1\nmetadata: {name: {{ .Values.a }}}\n", "helm template"),
    (
        "another provider",
        json.dumps(_state(_resource("aiven_kafka_acl", {}))),
        "not supported; supported",
    ),
    ("values to come", _confluent({"principal": None}), "no value for principal"),
    ("two clusters", _confluent({}, {"kafka_cluster": [{"id": "lkc-2"}]}), "after ACLs of 'lkc-1'"),
    ("ANY", _confluent({"operation": "ANY"}), r"line \d+: .*operation: found 'ANY'"),
    ("a number", _confluent({"resource_name": 7}), r"name: found 7; expected: a string"),
    ("operation in v1", _user(operation="Read"), "line 19: .*unknown: operation"),
    ("a typing error", _user(hosts="*"), "unknown: hosts; .*did you mean host"),
    ("no operations", _user(operations=None), "operations: found None; expected: a list"),
    ("a kind of resource", _user(resource={"type": "topics", "name": "t"}), "did you mean TOPIC"),
    ("a tag", "apiVersion: kafka.strimzi.io/v1\nkind: !!python/name:os.system KafkaUser\n", "tag"),
    (
        "no columns",
        RPK.replace("*         TOPIC", "* TOPIC", 1),
        "line 2: row: the columns are not aligned",
    ),
    (
        "a refusal",
        FILTERED.replace("ANY         \n", "ANY         NOT_CONTROLLER\n"),
        "could not list",
    ),
]


@pytest.mark.parametrize(
    ("text", "said"), [each[1:] for each in REFUSED], ids=[x[0] for x in REFUSED]
)
def test_unsupported_files_are_rejected(text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said) as refused:
        read(text)

    assert "hidden-in-no-error" not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: apps/v1\nkind: Deployment\n",
        "apiVersion: kafka.jikkou.io/v1\nkind: KafkaTopicList\nitems: []\n",
        json.dumps(_state(_resource("aws_instance", {}))),
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaUser\nmetadata: {name: u}\nspec: {}\n",
    ],
)
def test_files_without_acls_are_recognised(text: str) -> None:
    with pytest.raises(NoAcls):
        read(text)


def test_empty_authorization_is_an_empty_set() -> None:
    text = "apiVersion: kafka.strimzi.io/v1\nkind: KafkaUser\nmetadata: {name: u}\nspec:\n"

    assert read(f"{text} authorization: {{type: simple, acls: []}}\n") == []


def test_nested_aliases_do_not_exhaust_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "BINDINGS_MAX", 1_000)
    lists = "apiVersion: v1\nkind: List\nitems:\n- &l0 {apiVersion: v1, kind: List, items: []}\n"
    for level in range(1, 40):
        below = f"*l{level - 1}"
        lists += f"- &l{level} {{apiVersion: v1, kind: List, items: [{', '.join([below] * 9)}]}}\n"
    operations = (
        "apiVersion: kafka.strimzi.io/v1\nkind: KafkaUser\nmetadata: {name: u}\nspec:\n"
        " authorization:\n  acls:\n"
        "  - &acl {resource: {type: topic, name: t},"
        f" operations: [{', '.join(['Read'] * 99)}]}}\n" + "  - *acl\n" * 99
    )

    tracemalloc.start()
    with pytest.raises(NoAcls):
        read(lists)
    with pytest.raises(FormatError, match="found more than 1000 ACLs"):
        read(operations)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 20_000_000


def test_all_kafka_resource_types_are_read() -> None:
    for kind in ("Topic", "Group", "Cluster", "TransactionalID"):
        text = json.dumps(_state(_resource("kafka_acl", MONGEY | {"resource_type": kind})))
        [binding] = read(text)
        assert binding.pattern.resource_type in ResourceType


WORDS = st.sampled_from(
    [
        "a",
        "b",
        "c",
        "spec",
        "acls",
        "kind",
        "name",
        "type",
        "resource",
        "operations",
        "operation",
        "items",
        "metadata",
        "authorization",
        "roles",
        "instances",
        "resources",
        "attributes",
        "values",
        "matches",
        "principal",
        "host",
        "labels",
        "annotations",
        "root_module",
        "child_modules",
        "mode",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "Read", "managed", "*"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
HEADS: list[dict[str, Any]] = [
    {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaUser"},
    {"apiVersion": "kafka.jikkou.io/v1", "kind": "KafkaPrincipalAuthorization"},
    {"apiVersion": "kafka.jikkou.io/v1", "kind": "KafkaPrincipalRole"},
    {"apiVersion": "v1", "kind": "List"},
    {"version": 4, "terraform_version": "1"},
    {"format_version": "1.0", "terraform_version": "1"},
    {"matches": []},
    {"bindings": [], "topics": []},
]


@pytest.mark.parametrize("head", HEADS, ids=str)
@settings(max_examples=60)
@given(members=st.dictionaries(WORDS, VALUES, max_size=5))
@example(members={"metadata": {"name": []}})
def test_any_document_is_read_or_rejected(head: dict[str, Any], members: dict[str, Any]) -> None:
    for text in (json.dumps({**members, **head}), json.dumps([{**members, "resource_type": 1}])):
        with suppress(FormatError):
            read(text)

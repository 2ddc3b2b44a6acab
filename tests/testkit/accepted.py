"""The differences from a real broker that are accepted, each by name and with its reason.

``agreed`` takes two answers and says what of them still differs. Each row has a witness: a request
that shows the difference, so that a test can tell when a row is no longer needed.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from doorkeeper.server.api.registry import APIS
from doorkeeper_wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from doorkeeper_wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionRequest,
    TopicRequest,
)
from doorkeeper_wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
)
from doorkeeper_wire.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from testkit.frame_steps import (
    LITERAL,
    Step,
    ask_configs,
    change_configs,
    create,
    creation,
    describe,
    make_topics,
    new_topic,
)
from testkit.side_by_side import INTERNAL, unequal

Mask = Callable[[str, Any, Any], Any]
"""Takes the request's name, an answer and the other server's; returns it without the accepted."""

BROKERS_VERSIONS = {
    19: (2, 7),
    20: (1, 6),
    29: (1, 3),
    30: (1, 3),
    31: (1, 3),
    32: (1, 4),
    38: (1, 3),
    39: (1, 2),
    40: (1, 2),
    41: (1, 3),
}
"""Lowest and highest version on a broker, where our lowest is older."""

NEWER_VERSIONS = {42: 2, 89: 0}
"""Highest version of 4.3.1 and here, where a broker 4.4.0 has a newer one."""

DESCRIPTION = re.compile(r"Request\(.*\)", re.DOTALL)
REFUSAL = re.compile(r"\) (is not authorized|needs \w+ permission)\.$")
CORDONED = " or some brokers have all their log directories cordoned"
BOUNDS = re.compile(
    r"^(\S+) must be (?:in the range|greater than or equal to|less than or equal to) .*"
)
CONNECTION = re.compile(r"processor=\d+|connectionId=[^,]*|Session@[0-9a-f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """One difference: its name, why it is there, where it shows, and how it is put aside."""

    name: str
    reason: str
    witness: Step
    mask: Mask


def _rows(answer: Any, name: str, keep: Callable[[Any], Any]) -> Any:
    """Return the answer with each row of a list changed; rows that become None are left out."""
    if not isinstance(answer, dict) or name not in answer:
        return answer
    rows = [keep(row) for row in answer[name]]
    return {**answer, name: [row for row in rows if row is not None]}


def _served(request: str, answer: Any, other: Any) -> Any:
    if request != "ApiVersionsRequest":
        return answer
    theirs = other.get("api_keys", ()) if isinstance(other, dict) else ()
    listed = {row["api_key"] for row in theirs}

    def served(row: Any) -> Any:
        # A controller of Kafka's lists this one, and fails inside when it is asked.
        key = row["api_key"]
        fails = key == DescribeUserScramCredentialsRequest.API_KEY and key not in listed
        return None if fails or key not in APIS else row

    return _rows(answer, "api_keys", served)


def _versions(request: str, answer: Any, _other: Any) -> Any:
    if request != "ApiVersionsRequest":
        return answer

    def clipped(row: Any) -> Any:
        lowest, _ = BROKERS_VERSIONS.get(row["api_key"], (0, 0))
        return {**row, "min_version": max(lowest, row["min_version"])}

    return _rows(answer, "api_keys", clipped)


def _newer(request: str, answer: Any, _other: Any) -> Any:
    if request != "ApiVersionsRequest":
        return answer

    def clipped(row: Any) -> Any:
        newest = 4 if row["api_key"] == ApiVersionsRequest.API_KEY else row["max_version"]
        return {**row, "max_version": min(newest, row["max_version"])}

    return _rows(answer, "api_keys", clipped)


_OF_THE_LOG = {
    "leader_epoch",
    "high_watermark",
    "log_end_offset",
    "last_fetch_timestamp",
    "last_caught_up_timestamp",
}


def _log_of_metadata(request: str, answer: Any, _other: Any) -> Any:
    if request != "DescribeQuorumRequest":
        return answer

    def masked(value: Any) -> Any:
        if isinstance(value, list):
            return [masked(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            # Zero and -1 stand for partitions and replicas without these numbers.
            key: "<number>" if key in _OF_THE_LOG and part > 0 else masked(part)
            for key, part in value.items()
        }

    return masked(answer)


def _producer(request: str, answer: Any, _other: Any) -> Any:
    if request != "InitProducerIdRequest" or answer["producer_id"] < 0:
        return answer
    return {**answer, "producer_id": "<id>"}


def _transaction(request: str, answer: Any, other: Any) -> Any:
    codes = {0, 35}
    if request != "InitProducerIdRequest" or {answer["error_code"], other["error_code"]} != codes:
        return answer
    return dict.fromkeys(answer, "<either>")


def _producer_step(transactional_id: str | None) -> Step:
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=60_000
    )
    return Step(None, request, InitProducerIdResponse, 5)


def _without_newest(request: str, answer: Any, _other: Any) -> Any:
    if request != "ApiVersionsRequest":
        return answer

    def clipped(row: Any) -> Any:
        newest = NEWER_VERSIONS.get(row["api_key"], row["max_version"])
        return {**row, "max_version": min(newest, row["max_version"])}

    return _rows(answer, "api_keys", clipped)


def _features(_request: str, answer: Any, _other: Any) -> Any:
    for name in ("supported_features", "finalized_features"):
        answer = _rows(answer, name, lambda row: row if row["name"] == "metadata.version" else None)
    return answer


def _epoch(_request: str, answer: Any, _other: Any) -> Any:
    name = "finalized_features_epoch"
    if isinstance(answer, dict) and answer.get(name, -1) >= 0:
        return {**answer, name: "<epoch>"}
    return answer


FORWARDED = (
    "CreateAcls",
    "DeleteAcls",
    "AlterUserScram",
    "ElectLeaders",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "UpdateFeatures",
    "UnregisterBroker",
)
"""Requests that a broker hands to its controller, which refuses them with its own texts."""


def _hop(request: str, answer: Any, _other: Any) -> Any:
    if not request.startswith(FORWARDED):
        return answer
    return _texts(answer, lambda text: DESCRIPTION.sub("Request(...)", text))


def _refusal(_request: str, answer: Any, _other: Any) -> Any:
    return _texts(answer, lambda text: REFUSAL.sub(") is refused.", text))


def _cordoned(_request: str, answer: Any, _other: Any) -> Any:
    return _texts(answer, lambda text: text.replace(CORDONED, ""))


TOPIC, BROKER, LOGGERS, GROUP = 2, 4, 8, 32
"""Types of resources that have keys."""

CONFIGS = "DescribeConfigsRequest"


def _fixed(request: str, answer: Any, _other: Any) -> Any:
    if not request.startswith(("AlterConfigs", "IncrementalAlterConfigs")):
        return answer
    refusals = (29, 30, 31)

    def faultless(row: Any) -> Any:
        if row["resource_type"] != LOGGERS or row["error_code"] in refusals:
            return row
        return {**row, "error_code": "<either>", "error_message": "<words>"}

    masked = _rows(answer, "responses", faultless)
    if not isinstance(masked, dict) or "responses" not in masked:
        return masked
    return {**masked, "responses": sorted(masked["responses"], key=repr)}


def _key_mask(kind: int, keep: Callable[[Any, Any], Any]) -> Mask:
    """Return the mask of the keys of one type of resources.

    `keep` takes a row and the other server's of that name, or None; None leaves the row out.
    """

    def mask(request: str, answer: Any, other: Any) -> Any:
        if request != CONFIGS or not isinstance(answer, dict) or not isinstance(other, dict):
            return answer
        if len(answer["results"]) != len(other["results"]):
            return answer
        results = []
        for result, its in zip(answer["results"], other["results"], strict=True):
            rows = result["configs"]
            if result["resource_type"] == kind:
                known = {row["name"]: row for row in its["configs"]}
                kept = (keep(row, known.get(row["name"])) for row in rows)
                rows = [row for row in kept if row is not None]
            results.append({**result, "configs": rows})
        return {**answer, "results": results}

    return mask


def _known_to_both(row: Any, other: Any) -> Any:
    return None if other is None else row


def _of_both_releases(row: Any, other: Any) -> Any:
    newer = row["name"] == "message.timestamp.after.max.ms"
    return {**row, "value": "<either>"} if newer and other else _known_to_both(row, other)


def _undocumented(row: Any, _other: Any) -> Any:
    return {**row, "documentation": "<words>"}


def _without_dynamics(row: Any, _other: Any) -> Any:
    return {**row, "read_only": "<either>"}


def _without_default_id(row: Any, _other: Any) -> Any:
    if row["name"] != "node.id":
        return row
    return {**row, "synonyms": [each for each in row["synonyms"] if each["source"] != DEFAULT]}


def _without_newer_keys(request: str, answer: Any, other: Any) -> Any:
    if request.startswith("CreateTopics"):
        if not isinstance(answer, dict) or not isinstance(other, dict):
            return answer
        known = {row["name"] for topic in other["topics"] for row in topic.get("configs") or ()}

        def shared(topic: Any) -> Any:
            rows = topic.get("configs") or ()
            kept = [row for row in rows if row["name"] in known]
            return {**topic, "configs": kept} if rows else topic

        return _rows(answer, "topics", shared)
    for kind in (TOPIC, GROUP):
        answer = _key_mask(kind, _known_to_both)(request, answer, other)
    return answer


def _bounds(request: str, answer: Any, _other: Any) -> Any:
    if not request.startswith(("AlterConfigs", "IncrementalAlterConfigs")):
        return answer
    return _texts(answer, lambda text: BOUNDS.sub(r"\1 is beyond its bounds", text))


def _refused_early(request: str, answer: Any, other: Any) -> Any:
    if not request.startswith(("AlterConfigs", "IncrementalAlterConfigs")):
        return answer
    if not isinstance(answer, dict) or not isinstance(other, dict):
        return answer

    def key_of(row: Any) -> tuple[int, str]:
        return row["resource_type"], row["resource_name"]

    # A refusal of 4.4 has no text.
    refused = {
        key_of(row)
        for row in (*answer["responses"], *other["responses"])
        if row["error_code"] == DENIED and row["error_message"] is None
    }
    rows = [
        {**row, "error_code": "<refused>", "error_message": None} if key_of(row) in refused else row
        for row in answer["responses"]
    ]
    return {**answer, "responses": sorted(rows, key=repr)}


DENIED = 31
"""CLUSTER_AUTHORIZATION_FAILED."""

DEFAULT = 5
"""The source of a value that is the key's default."""


def _texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _texts(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [_texts(part, change) for part in value]
    return change(value) if isinstance(value, str) else value


def unconnected(answer: Any) -> Any:
    """Return an answer without what names its connection: that differs between two brokers too."""
    return _texts(answer, lambda text: CONNECTION.sub("<connection>", text))


_VERSIONS = Step(
    None,
    ApiVersionsRequest(client_software_name="a", client_software_version="1"),
    ApiVersionsResponse,
    4,
)

ACCEPTED: tuple[Accepted, ...] = (
    Accepted(
        name="served-apis",
        reason="ApiVersions lists what is served here, and nothing that moves records",
        witness=_VERSIONS,
        mask=_served,
    ),
    Accepted(
        name="older-versions",
        reason="versions that Kafka 4.0 removed are served as 3.9 served them",
        witness=_VERSIONS,
        mask=_versions,
    ),
    Accepted(
        name="newer-api-versions",
        reason="version 5 of ApiVersions is served as Kafka 4.4 serves it",
        witness=_VERSIONS,
        mask=_newer,
    ),
    Accepted(
        name="features",
        reason="only metadata.version is named: the other features concern what is not served",
        witness=_VERSIONS,
        mask=_features,
    ),
    Accepted(
        name="features-epoch",
        reason="the epoch counts the records of a metadata log, which does not exist here",
        witness=_VERSIONS,
        mask=_epoch,
    ),
    Accepted(
        name="metadata-log",
        reason="the log of a cluster is its store: offsets are revisions, without elections",
        witness=Step(
            None,
            DescribeQuorumRequest(
                topics=(
                    TopicRequest(
                        topic_name="__cluster_metadata",
                        partitions=(PartitionRequest(partition_index=0),),
                    ),
                )
            ),
            DescribeQuorumResponse,
            2,
        ),
        mask=_log_of_metadata,
    ),
    Accepted(
        name="producer-ids",
        reason="ids of producers are random: they need no store to differ",
        witness=_producer_step(None),
        mask=_producer,
    ),
    Accepted(
        name="transactions",
        reason="there is no coordinator of transactions: a producer with an id of its own gets 35",
        witness=_producer_step("accepted"),
        mask=_transaction,
    ),
    Accepted(
        name="hop-description",
        reason="a refusal of the controller's describes the client's own request;"
        " a broker describes its hop to the controller",
        witness=create(creation(), user="alice"),
        mask=_hop,
    ),
    Accepted(
        name="broker-keys",
        reason="a broker here tells the keys that have an effect here, and its own",
        witness=ask_configs(4, BROKER, "1", None),
        mask=_key_mask(BROKER, _known_to_both),
    ),
    Accepted(
        name="dynamic-keys",
        reason="which keys may change without a restart is another set here",
        witness=ask_configs(4, BROKER, "1", ("listeners",)),
        mask=_key_mask(BROKER, _without_dynamics),
    ),
    Accepted(
        name="node-id",
        reason="node.id has a default here; a broker cannot start without one",
        witness=ask_configs(4, BROKER, "1", ("node.id",), include_synonyms=True),
        mask=_key_mask(BROKER, _without_default_id),
    ),
    Accepted(
        name="loggers",
        reason="each server has loggers of its own",
        witness=ask_configs(4, LOGGERS, "1", None),
        mask=_key_mask(LOGGERS, lambda _row, _other: None),
    ),
    Accepted(
        name="fixed-loggers",
        reason="levels of loggers are never altered here",
        witness=change_configs(1, (LOGGERS, "1", (("no.such.logger", 0, "INFO"),))),
        mask=_fixed,
    ),
    *(
        Accepted(
            name=f"documentation-of-{what}",
            reason="documentation is in our own words",
            witness=ask_configs(4, kind, name, None, include_documentation=True),
            mask=_key_mask(kind, _undocumented),
        )
        for kind, what, name in (
            (TOPIC, "topics", INTERNAL[0]),
            (BROKER, "brokers", "1"),
            (16, "client-metrics", "none"),
            (32, "groups", "g"),
        )
    ),
)

OLDER_ACCEPTED: tuple[Accepted, ...] = (
    Accepted(
        name="refusal-text",
        reason="a refusal of version 0 has the text of 4.3.1, which names the permission",
        witness=describe(0, user="alice", pattern_type_filter=LITERAL),
        mask=_refusal,
    ),
    Accepted(
        name="replicas-text",
        reason="the text about too few brokers is that of 4.3.1, which knows of cordoned ones",
        witness=make_topics(new_topic("a", replication_factor=3), version=1),
        mask=_cordoned,
    ),
    Accepted(
        name="topic-keys",
        reason="a topic has the keys and the defaults of 4.3.1, of which some are newer",
        witness=ask_configs(0, TOPIC, INTERNAL[0], None),
        mask=_key_mask(TOPIC, _of_both_releases),
    ),
)
"""What is accepted besides where a broker 3.9.1 is the reference."""


NEWER_ACCEPTED: tuple[Accepted, ...] = (
    Accepted(
        name="versions-of-4.4",
        reason="DeleteGroups and StreamsGroupDescribe have the versions of 4.3.1;"
        " a broker 4.4.0 has one more",
        witness=_VERSIONS,
        mask=_without_newest,
    ),
    Accepted(
        name="newer-keys",
        reason="topics and groups have the keys of 4.3.1; a broker 4.4.0 has some more",
        witness=ask_configs(4, TOPIC, INTERNAL[0], None),
        mask=_without_newer_keys,
    ),
    Accepted(
        name="early-refusals",
        reason="faults of a change of configurations are found before its author is authorized,"
        " as by 4.3.1; a broker 4.4.0 authorizes first",
        witness=change_configs(1, (BROKER, "1", (("node.id", 0, "7"),)))._replace(user="alice"),
        mask=_refused_early,
    ),
    Accepted(
        name="bounds-of-groups",
        reason="a value of a group beyond its bounds is refused with the text of 4.3.1, which names"
        " the key of the bound; a broker 4.4.0 tells the bounds",
        witness=change_configs(
            1, (32, "g", (("consumer.session.timeout.ms", 0, "1"),)), validate=True
        ),
        mask=_bounds,
    ),
)
"""What is accepted besides where a broker 4.4.0 is the reference."""

NOT_BESIDE_NEWER = ("newer-api-versions",)
"""Names of accepted differences that a broker 4.4.0 does not show."""


def accepted_beside(version: str) -> tuple[Accepted, ...]:
    """Return what is accepted where a broker of this release is the reference."""
    if version == "3.9.1":
        return (*ACCEPTED, *OLDER_ACCEPTED)
    if version == "4.4.0":
        kept = (row for row in ACCEPTED if row.name not in NOT_BESIDE_NEWER)
        return (*kept, *NEWER_ACCEPTED)
    return ACCEPTED


def agreed(
    request: str,
    expected: Any,
    found: Any,
    *,
    accepted: tuple[Accepted, ...] = ACCEPTED,
    met: Counter[str] | None = None,
) -> list[str]:
    """Return the lines of what differs and is not accepted; count in ``met`` what is."""
    expected, found = unconnected(expected), unconnected(found)
    lines = unequal("", expected, found)
    for row in accepted:
        if not lines:
            break
        masked = row.mask(request, expected, found), row.mask(request, found, expected)
        expected, found = masked
        left = unequal("", expected, found)
        if met is not None and left != lines:
            met[row.name] += 1
        lines = left
    return lines

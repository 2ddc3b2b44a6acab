"""CreateTopics (19), versions 0-7: creates topics, each with its own result.

Needs CREATE on the cluster, else CREATE on the topic (else 29). A caller with DESCRIBE_CONFIGS on
the topic gets its configuration; another one gets TopicConfigErrorCode 29 beside the success.

    v1  validate_only, texts        v5  flexible; partitions, replication factor and configs of
    v2  throttle time                   the new topic
    v4  -1 for the server's defaults (accepted in every version)    v7  the topic's id

Topics are rows of the store: name, number of partitions, replication factor, configuration. Their
creation is immediate, so only a time-out of 0 or less expires: then, if any topic is left to
create, every row is 7 and nothing is created. Duplicate names are refused. More than 10,000
partitions, or records of a controller, refuse the whole request with 44.

Rows come in this order: the topics that passed the checks below; duplicates; those not allowed.

Source: ``ControllerApis.createTopics``, ``ReplicationControlManager.createTopics`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from doorkeeper.base.errors import ApiError, ErrorCode, row_of
from doorkeeper.base.slices import counts
from doorkeeper.server.api.declaration import declare, refuse_rows
from doorkeeper.server.api.node import Node, Outcome, Update, UpdateOperation
from doorkeeper.server.api.permissions import allowed_names, is_allowed, needs
from doorkeeper.server.config.settings import Settings
from doorkeeper.server.resources.cluster import Broker
from doorkeeper.server.resources.settings.topic import effective
from doorkeeper.server.resources.topics.creation import (
    PARTITIONS_PER_REQUEST_MAX,
    partitions_of,
    plan_topic,
    records_of,
)
from doorkeeper.server.resources.topics.names import CLUSTER_METADATA_TOPIC
from doorkeeper.server.resources.topics.plans import plan_creation
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper.server.schema.change import RECORDS_MAX, too_large
from doorkeeper.server.schema.declared import StoredTopic
from doorkeeper_wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

_CREATE_ON_CLUSTER, _CREATE, _DESCRIBE_CONFIGS = needs(CreateTopicsRequest.API_KEY)


def handle(request: CreateTopicsRequest, context: RequestContext, node: Node) -> Outcome:
    tried, describable, refused = _sort_topics(request.topics, context, node)
    # After the permissions: a request whose rows are all refused does not time out.
    if request.timeout_ms <= 0 and tried:
        raise ApiError(ErrorCode.REQUEST_TIMED_OUT)
    # Checked before planning, whose cost grows with the partitions.
    if sum(partitions_of(topic, node) for topic in tried) > PARTITIONS_PER_REQUEST_MAX:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )
    brokers = node.registered_brokers(context.authorizable.listener_name)
    plans = [_plan(topic, node, brokers) for topic in tried]
    created = tuple(plan for plan in plans if not isinstance(plan, ApiError))
    if sum(map(records_of, created)) > RECORDS_MAX:
        raise too_large()
    respond = partial(_respond, tried, describable, refused, plans, node.settings)
    # No transaction, and so no sync of the disk.
    if request.validate_only or not created:
        return respond([None] * len(created))
    return Update.of_plan(
        UpdateOperation.TOPICS,
        lambda state: plan_creation(state.topics, created),
        context,
        respond,
    )


def _sort_topics(
    topics: Sequence[CreatableTopic], context: RequestContext, node: Node
) -> tuple[list[CreatableTopic], frozenset[str], list[CreatableTopicResult]]:
    """Return the topics to create, the names with visible configuration, and other rows."""
    named = counts(topic.name for topic in topics)
    # The metadata topic is refused without asking the authorizer, as in ControllerApis.
    names = [n for n, count in named.items() if count == 1 and n != CLUSTER_METADATA_TOPIC]
    # The cluster first, and quietly: CREATE on it covers all topics.
    if is_allowed(node, context, _CREATE_ON_CLUSTER):
        allowed = frozenset(name for name in names)
    else:
        allowed = allowed_names(node, context, _CREATE, names)
    describable = allowed_names(node, context, _DESCRIBE_CONFIGS, names)
    twice = ApiError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
    internal = ApiError(
        ErrorCode.INVALID_REQUEST,
        f"Creation of internal topic {CLUSTER_METADATA_TOPIC} is prohibited.",
    )
    denied = ApiError(_CREATE.refusal, "Authorization failed.")
    # Duplicates first, then denials: the order of a broker's rows.
    refused = [_row_of_error(name, twice) for name, count in named.items() if count > 1]
    refused += [
        _row_of_error(name, internal if name == CLUSTER_METADATA_TOPIC else denied)
        for name, count in named.items()
        if count == 1 and name not in allowed
    ]
    return [topic for topic in topics if topic.name in allowed], describable, refused


def _plan(topic: CreatableTopic, node: Node, brokers: Sequence[Broker]) -> StoredTopic | ApiError:
    try:
        return plan_topic(topic, node, brokers)
    except ApiError as error:
        return error


def _respond(
    tried: Sequence[CreatableTopic],
    describable: frozenset[str],
    refused: Sequence[CreatableTopicResult],
    plans: Sequence[StoredTopic | ApiError],
    settings: Settings,
    errors: Sequence[ApiError | None],
) -> CreateTopicsResponse:
    created = iter(errors)
    rows = []
    for topic, plan in zip(tried, plans, strict=True):
        error = plan if isinstance(plan, ApiError) else next(created)
        if error is not None:
            rows.append(_row_of_error(topic.name, error))
        elif not isinstance(plan, ApiError):
            shown = topic.name in describable
            rows.append(_row_of_success(plan, settings, describable=shown))
    return CreateTopicsResponse(topics=(*rows, *refused))


def _row_of_success(
    topic: StoredTopic, settings: Settings, *, describable: bool
) -> CreatableTopicResult:
    row = CreatableTopicResult(name=topic.name, topic_id=topic.topic_id, error_message=None)
    # The creation succeeded: partitions and replication factor stay -1, configs null (KIP-525).
    if not describable:
        return row.replace(topic_config_error_code=_DESCRIBE_CONFIGS.refusal.value)
    return row.replace(
        num_partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        configs=tuple(
            CreatableTopicConfigs(name=name, value=value, config_source=source.value)
            for name, (value, source, _) in effective(topic.configs, settings.values_of).items()
        ),
    )


def _row_of_error(name: str, error: BaseException) -> CreatableTopicResult:
    return row_of(CreatableTopicResult, error, name=name)


API = declare(CreateTopicsRequest, handle, refuse_rows(CreateTopicsResponse), on_controller=True)

"""DescribeConfigs (32), versions 0-4: the configuration of brokers, topics and other resources.

Needs DESCRIBE_CONFIGS: on the cluster for a broker, its loggers and client metrics (31); on the
topic (29); on the group (30). Resources without it come last.

    v0  "is the default" is never true, as in 3.9      v1  the source of a value, its synonyms
    v3  types, documentation                           v4  flexible

    broker         this node's id: its configuration, secrets as null; no name: the dynamic
                   values of the cluster; another id is 42
    broker logger  the levels of the logs, by logger
    topic          its own values, over the broker's, over the defaults
    group, client metrics   their own values, over the defaults

Resource types here are not the codes of ACLs. An unknown type refuses the whole request with 42.

Source: the broker's ``ConfigHelper`` (4.3.1).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from doorkeeper.acls.model import CLUSTER_NAME
from doorkeeper.base.errors import DEFAULT_MESSAGES, ApiError, ErrorCode, answer_of
from doorkeeper.base.values import KeyType
from doorkeeper.server.api.config_alteration import check_node_id, needs_by_type
from doorkeeper.server.api.declaration import declare, only_stock_text, refuse_rows
from doorkeeper.server.api.node import Node
from doorkeeper.server.api.permissions import is_allowed
from doorkeeper.server.config.keys import LOG_LEVELS
from doorkeeper.server.config.settings import ConfigSource, DescribedKey, Synonym
from doorkeeper.server.resources.policies.contract import ConfigResourceType
from doorkeeper.server.resources.settings.client_metrics import client_metrics_settings
from doorkeeper.server.resources.settings.group import group_settings
from doorkeeper.server.resources.settings.operations import STORED_TYPES
from doorkeeper.server.resources.settings.topic import (
    TopicConfig,
    display,
    effective,
    topic_settings,
)
from doorkeeper.server.resources.topics.names import reason_invalid
from doorkeeper.server.runtime.request_context import RequestContext
from doorkeeper_wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = ConfigResourceType

_NEEDS = needs_by_type(DescribeConfigsRequest.API_KEY)

# The names of log4j: WARN and FATAL.
_LEVELS = {5: "TRACE", logging.DEBUG: "DEBUG", logging.INFO: "INFO", logging.WARNING: "WARN"}
_LEVELS |= {logging.ERROR: "ERROR", logging.CRITICAL: "FATAL"}


def handle(
    request: DescribeConfigsRequest, context: RequestContext, node: Node
) -> DescribeConfigsResponse:
    allowed, refused = [], []
    for resource in request.resources:
        if resource.resource_type not in _NEEDS:
            # For the whole request, as on a broker.
            raise ApiError(ErrorCode.INVALID_REQUEST)
        need = _NEEDS[resource.resource_type]
        name = resource.resource_name if resource.resource_type in (TOPIC, GROUP) else CLUSTER_NAME
        if is_allowed(node, context, need, name):
            allowed.append(resource)
        else:
            # Refused resources come after all others, whatever their place in the request.
            refused.append(_failure(resource, need.refusal, DEFAULT_MESSAGES[need.refusal]))
    described = (_describe(resource, node, request) for resource in allowed)
    return DescribeConfigsResponse(results=(*described, *refused))


def _describe(
    resource: DescribeConfigsResource, node: Node, request: DescribeConfigsRequest
) -> DescribeConfigsResult:
    try:
        described = _DESCRIBERS[resource.resource_type](resource.resource_name, node)
    except ApiError as error:
        code, text = answer_of(error)
        return _failure(resource, code, text)
    # Null and an empty list both select every key.
    keys = resource.configuration_keys
    return DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=tuple(_row(key, request) for key in described if not keys or key.name in keys),
    )


def _row(key: DescribedKey, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = key.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=key.name,
        value=key.value,
        read_only=key.read_only,
        config_source=key.source.value,
        is_sensitive=key.sensitive,
        synonyms=tuple(
            DescribeConfigsSynonym(
                name=synonym.name, value=synonym.value, source=synonym.source.value
            )
            for synonym in synonyms
        ),
        config_type=0 if key.type is None else key.type.value,
        documentation=key.doc if request.include_documentation or key.type is None else None,
    )


def _failure(
    resource: DescribeConfigsResource, code: ErrorCode, text: str | None
) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=code.value,
        error_message=text,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _topic(name: str, node: Node) -> Iterable[DescribedKey]:
    # The name is checked before the look-up: an invalid one is 17 and not 3.
    reason = reason_invalid(name)
    if reason is not None:
        raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    topic = node.topics.get(name)
    if topic is None:
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    texts = {key: display(topic_settings()[key], text) for key, text in topic.configs.items()}
    return (
        _setting(topic_settings()[key], value, source, synonyms)
        for key, (value, source, synonyms) in effective(texts, node.settings.values_of).items()
    )


def _setting(
    config: TopicConfig, value: str | None, source: ConfigSource, synonyms: tuple[Synonym, ...]
) -> DescribedKey:
    return DescribedKey(config.name, value, config.type, source, False, False, config.doc, synonyms)


def _broker(name: str, node: Node) -> Iterable[DescribedKey]:
    if not name:
        return node.settings.describe_cluster()
    unexpected = "Unexpected broker id, expected {} or empty string, but received {}"
    check_node_id(name, node, unexpected, "Broker")
    return node.settings.describe()


def _broker_logger(name: str, node: Node) -> Iterable[DescribedKey]:
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    check_node_id(name, node, "Unexpected broker id, expected {} but received {}", "Broker")
    # The root logger always has a level, also where the configuration names none.
    levels = {"root": logging.INFO, **node.settings[LOG_LEVELS]}
    source = ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG
    return (
        DescribedKey(logger, _LEVELS.get(level, str(level)), None, source, False, False, "", ())
        for logger, level in sorted(levels.items())
    )


def _stored(
    kind: int,
    noun: str,
    settings: Callable[[], Mapping[str, TopicConfig]],
    source: ConfigSource,
    name: str,
    node: Node,
) -> Iterable[DescribedKey]:
    if not name:
        raise ApiError(ErrorCode.INVALID_REQUEST, f"{noun} name must not be empty")
    values = node.state.resource_configs.of((STORED_TYPES[kind], name))
    return (_stored_key(config, values, source) for _, config in sorted(settings().items()))


def _stored_key(config: TopicConfig, values: Mapping[str, str], own: ConfigSource) -> DescribedKey:
    value = config.default
    source, synonyms = ConfigSource.DEFAULT_CONFIG, tuple[Synonym, ...]()
    if config.synonym is not None:
        synonyms = (Synonym(config.synonym, value, source),)
    if config.name in values:
        value = display(config, values[config.name])
        if config.type is KeyType.LIST:
            # A broker leaves out what a list repeats.
            value = ",".join(dict.fromkeys(value.split(",")))
        source, synonyms = own, (Synonym(config.name, value, own), *synonyms)
    return _setting(config, value, source, synonyms)


_DESCRIBERS: Mapping[int, Callable[[str, Node], Iterable[DescribedKey]]] = {
    TOPIC: _topic,
    BROKER: _broker,
    BROKER_LOGGER: _broker_logger,
    CLIENT_METRICS: partial(
        _stored,
        CLIENT_METRICS,
        "Client metrics subscription",
        client_metrics_settings,
        ConfigSource.CLIENT_METRICS_CONFIG,
    ),
    GROUP: partial(_stored, GROUP, "Group", group_settings, ConfigSource.GROUP_CONFIG),
}


API = declare(
    DescribeConfigsRequest,
    handle,
    refuse_rows(DescribeConfigsResponse, only_stock_text),
    on_controller=True,
)

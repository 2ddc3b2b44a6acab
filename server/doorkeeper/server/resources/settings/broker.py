"""Validation of changed broker configurations.

A change is validated on the current dynamic values of its resource: this node, or the whole
cluster. It is rejected as a whole. Other than a broker, Doorkeeper rejects passwords (they belong
in the file), misspelt keys, and keys that are dynamic in Kafka but need a restart here.

Source: the broker's ``ConfigAdminManager``, ``DynamicBrokerConfig.validateConfigs`` (4.3.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.base.key import Applies, Dynamic
from doorkeeper.base.values import KeyType
from doorkeeper.server.config.kafka_keys import without_effect
from doorkeeper.server.config.keys import KEYS, MAX_CONNECTIONS, MAX_CONNECTIONS_PER_IP
from doorkeeper.server.config.naming import LISTENER_PREFIX, declaration_of, find_key
from doorkeeper.server.config.settings import default_of, meaning_of
from doorkeeper.server.resources.settings.operations import Alteration, ConfigOperation, altered
from doorkeeper.server.resources.settings.topic import (
    InvalidConfig,
    TopicConfig,
    check_value,
    topic_settings,
)

MIN_INSYNC_REPLICAS = "min.insync.replicas"

_NOT_NEGATIVE = (MAX_CONNECTIONS.name, MAX_CONNECTIONS_PER_IP.name)


# The default of a topic's setting has the rules of that setting.
@cache
def _of_topics() -> Mapping[str, TopicConfig]:
    return {config.synonym: config for config in topic_settings().values() if config.synonym}


class OurRefusal(ApiError):
    """A rejection of a change that a broker accepts; only callers with ALTER_CONFIGS see it."""


def alter_values(
    before: Mapping[str, str], alterations: Sequence[Alteration], *, of_cluster: bool
) -> dict[str, str]:
    """Return the values of a resource after a change."""
    values = altered(before, alterations, _first_elements, _unknown_operation)
    # All values of the resource, not only the changed ones, as a broker does: an earlier one that
    # is no longer allowed has to be deleted in the same request.
    _check_names(values, of_cluster=of_cluster)
    for name, value in values.items():
        _check_value(name, value)
    return values


def _unknown_operation(code: int) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {code}")


def _first_elements(name: str, operation: ConfigOperation) -> str:
    key = declaration_of(name)
    if key is None or not key.declared:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"Unknown config name: {name}")
    if key.type is not KeyType.LIST:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"Config value {operation.name.lower()} is not allowed for config key: {name}",
        )
    # Without a dynamic value, elements are added to the default, not to the value of the file.
    return default_of(name) or ""


def _check_names(names: Iterable[str], *, of_cluster: bool) -> None:
    names = list(names)
    for name in names:
        meaning = find_key(name)
        if meaning.resembles is not None:
            text = f"unknown key {name}; did you mean {meaning.resembles}?"
            raise OurRefusal(ErrorCode.INVALID_REQUEST, text)
        if name.startswith("doorkeeper.") and meaning.key is None:
            raise OurRefusal(ErrorCode.INVALID_REQUEST, f"unknown key {name}")
    fixed = list(filter(_needs_restart, names))
    # A name that Kafka refuses too makes the whole response Kafka's.
    refusal = ApiError if any(map(_is_fixed_in_kafka, fixed)) else OurRefusal
    _refuse("Cannot update these configs dynamically", fixed, refusal)
    _refuse(
        "These security configs can be dynamically updated only per-listener using the listener"
        " prefix",
        (name for name in names if _in_kafka(name) is Dynamic.LISTENER),
    )
    if of_cluster:
        _refuse(
            "Cannot update these configs at default cluster level, broker id must be specified",
            filter(_of_one_broker, names),
        )


def _refuse(text: str, names: Iterable[str], refusal: type[ApiError] = ApiError) -> None:
    names = list(names)
    if names:
        raise refusal(ErrorCode.INVALID_REQUEST, f"{text}: [{', '.join(names)}]")


def _needs_restart(name: str) -> bool:
    key = find_key(name).key
    if key is not None and not key.sensitive and _in_kafka(name) is Dynamic.LISTENER:
        # _check_names rejects it with another text.
        return False
    if key is not None:
        if key.applies is not Applies.DYNAMIC:
            return True
        # The session keys of a listener need the listener's prefix, as on a broker.
        return key.declared and not key.ours and name == key.name and not key.in_kafka
    other = without_effect().get(name)
    if other is not None:
        return not other.in_kafka or other.sensitive
    return name.startswith(LISTENER_PREFIX) and _is_secret(name)


def _is_fixed_in_kafka(name: str) -> bool:
    """Return whether a broker rejects it too: a key of Kafka that is not dynamic."""
    key = declaration_of(name)
    return key is not None and key.declared and not key.ours and not key.in_kafka


def _is_secret(name: str) -> bool:
    keys = (*KEYS.values(), *without_effect().values())
    return name.endswith(tuple(f".{key}" for key in keys if key.type is KeyType.PASSWORD))


def _in_kafka(name: str) -> Dynamic | None:
    """Return whose dynamic value a broker takes; None for a name that is not dynamic there."""
    key = declaration_of(name)
    return None if key is None else key.in_kafka


def _of_one_broker(name: str) -> bool:
    if not name.startswith(LISTENER_PREFIX):
        return _in_kafka(name) in (Dynamic.LISTENER, Dynamic.BROKER)
    keys = (*KEYS.values(), *without_effect().values())
    of_all = tuple(f".{key}" for key in keys if key.in_kafka is Dynamic.CLUSTER_LISTENER)
    return not name.endswith(of_all)


def _check_value(name: str, text: str) -> None:
    key_type = meaning_of(name).type
    key = find_key(name).key
    base = name if key is None else key.name
    try:
        value = check_value(base, key_type, text, _of_topics().get(base))
    except InvalidConfig as fault:
        raise ApiError(ErrorCode.INVALID_REQUEST, str(fault)) from None
    if base in _NOT_NEGATIVE and isinstance(value, int) and value < 0:
        reason = "Value must be at least 0"
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Invalid value {value} for configuration {base}: {reason}",
        )


def check_replicas(alterations: Iterable[Alteration], *, of_cluster: bool) -> None:
    """Check the restrictions of eligible leader replicas, which a broker enables by default."""
    for name, operation, _ in alterations:
        if name == MIN_INSYNC_REPLICAS and not of_cluster:
            text = f"Broker-level {name} cannot be altered while ELR is enabled."
            raise ApiError(ErrorCode.INVALID_CONFIG, text)
        if name == MIN_INSYNC_REPLICAS and operation == ConfigOperation.DELETE:
            text = f"Cluster-level {name} cannot be removed while ELR is enabled."
            raise ApiError(ErrorCode.INVALID_CONFIG, text)

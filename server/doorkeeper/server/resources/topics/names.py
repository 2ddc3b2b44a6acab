"""Valid topic names, and the names of Kafka's internal topics.

Source: the broker's ``org.apache.kafka.common.internals.Topic`` (4.3.1).
"""

from __future__ import annotations

import re

from doorkeeper.base.errors import ErrorCode

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
"""The log of the controllers; clients cannot create it."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""The topics in which a broker keeps its own state."""

# A topic's folder also has a partition number, and file names end at 255 characters.
NAME_LENGTH_MAX = 249

_LEGAL = re.compile(r"[a-zA-Z0-9._-]*")


def reason_invalid(name: str) -> str | None:
    """Return the broker's reason for an illegal name; None for a legal one."""
    reason = None
    if not name:
        reason = "the empty string is not allowed"
    elif name in (".", ".."):
        reason = f"'{name}' is not allowed"
    elif len(name) > NAME_LENGTH_MAX:
        reason = f"the length of '{name}' is longer than the max allowed length {NAME_LENGTH_MAX}"
    elif _LEGAL.fullmatch(name) is None:
        reason = (
            f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_'"
            " and '-'"
        )
    return None if reason is None else f"Topic name is invalid: {reason}"


def error_of_missing(name: str) -> ErrorCode:
    """Return the error of a missing topic: an illegal name has another one."""
    if reason_invalid(name) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.INVALID_TOPIC_EXCEPTION


def collision_key(name: str) -> str | None:
    """Return the name under which names collide in Kafka's metrics; None if none can.

    ``a.b`` and ``a_b`` are equal there, so only one of them may exist.
    """
    return name.replace(".", "_") if "." in name or "_" in name else None

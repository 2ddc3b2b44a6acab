"""The configured policies of topics and configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from doorkeeper.base.entry import Entry
from doorkeeper.server.app.errors import StartError, locate
from doorkeeper.server.config.keys import (
    ALTER_CONFIG_POLICY_CLASS_NAME,
    CREATE_TOPIC_POLICY_CLASS_NAME,
)
from doorkeeper.server.config.plug_ins import PlugIn, class_of, made
from doorkeeper.server.resources.policies.contract import AlterConfigPolicy, CreateTopicPolicy
from doorkeeper.server.resources.policies.guard import Policies

_CALLS: Final = {"configure": 1, "validate": 1, "close": 0}

CREATE_TOPIC: Final = PlugIn(
    CREATE_TOPIC_POLICY_CLASS_NAME.name,
    "doorkeeper.create_topic_policies",
    CreateTopicPolicy,
    _CALLS,
)
ALTER_CONFIG: Final = PlugIn(
    ALTER_CONFIG_POLICY_CLASS_NAME.name,
    "doorkeeper.alter_config_policies",
    AlterConfigPolicy,
    _CALLS,
)


def policies_of(entries: Sequence[Entry], *, slow_ms: int = 50) -> Policies:
    """Return the policies, configured.

    Raises:
        StartError: one of them cannot be loaded, or rejects its configuration.
    """
    originals = {entry.key: entry.value for entry in entries}
    problems: list[str] = []
    loaded = []
    for plug_in in (CREATE_TOPIC, ALTER_CONFIG):
        try:
            loaded.append(policy_of(plug_in, originals))
        except ValueError as error:
            problems.append(locate(entries, error))
            loaded.append(None)
    policies = Policies(*loaded, slow_ms=slow_ms)
    if problems:
        policies.close()
        raise StartError(*problems)
    return policies


def policy_of(plug_in: PlugIn, originals: Mapping[str, str]) -> Any:  # noqa: ANN401 - of its ``base``
    """Return the configured policy; None without one.

    Raises:
        ValueError: it cannot be loaded, or rejects its configuration.
    """
    name = originals.get(plug_in.key, "").strip()
    if not name:
        return None
    return made(
        class_of(plug_in, name),
        lambda policy: policy.configure(originals),
        f"{plug_in.key}={name}",
    )

"""Loads the policies that the configuration names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from doorkeeper.server.config.keys import (
    ALTER_CONFIG_POLICY_CLASS_NAME,
    CREATE_TOPIC_POLICY_CLASS_NAME,
)
from doorkeeper.server.config.plug_ins import PlugIn, class_of, made
from doorkeeper.server.resources.policies.contract import AlterConfigPolicy, CreateTopicPolicy

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

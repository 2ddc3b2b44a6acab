"""The contract of policies (KIP-108, KIP-133), for plug-ins.

Plug-ins may rely on the names in ``__all__``; the modules behind them may change at any time.
``docs/how-to/policies.md`` is the guide.
"""

from __future__ import annotations

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.resources.policies.contract import (
    AlterConfigPolicy,
    ConfigAlteration,
    ConfigResourceType,
    CreateTopicPolicy,
    PolicyViolation,
    TopicCreation,
)

__all__ = [
    "AlterConfigPolicy",
    "ApiError",
    "ConfigAlteration",
    "ConfigResourceType",
    "CreateTopicPolicy",
    "ErrorCode",
    "PolicyViolation",
    "TopicCreation",
]

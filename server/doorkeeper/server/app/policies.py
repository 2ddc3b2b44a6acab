"""The configured policies of topics and configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from doorkeeper.base.entry import Entry
from doorkeeper.server.app.authorizer import locate
from doorkeeper.server.app.errors import StartError
from doorkeeper.server.config.keys import (
    ALTER_CONFIG_POLICY_CLASS_NAME,
    CREATE_TOPIC_POLICY_CLASS_NAME,
)
from doorkeeper.server.resources.policies.guard import Policies

POLICY_KEYS: Final = (CREATE_TOPIC_POLICY_CLASS_NAME, ALTER_CONFIG_POLICY_CLASS_NAME)


def policies_of(entries: Sequence[Entry], *, slow_ms: int = 50) -> Policies:
    """Return the policies, configured.

    Raises:
        StartError: one of them cannot be loaded, or rejects its configuration.

    """
    originals = {entry.key: entry.value for entry in entries}
    if not any(originals.get(key.name, "").strip() for key in POLICY_KEYS):
        return Policies(slow_ms=slow_ms)
    # Imported only where there is a policy: plug-ins are slow to check.
    from doorkeeper.server.resources.policies.loading import ALTER_CONFIG, CREATE_TOPIC, policy_of

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

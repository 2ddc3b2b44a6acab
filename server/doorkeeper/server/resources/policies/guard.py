"""Calls the policies of a server, and enforces their contract.

A refusal is an ``ApiError``. Any other exception fails the topic or resource with -1, as on a
controller, and is logged. Calls run on the event loop: slow ones are logged at most once a minute.

Source: ``ReplicationControlManager.maybeCheckCreateTopicPolicy`` and
``ConfigurationControlManager.validateAlterConfig`` (4.3.1).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.config.plug_ins import SlowCalls, closed, name_of
from doorkeeper.server.resources.policies.contract import (
    AlterConfigPolicy,
    ConfigAlteration,
    CreateTopicPolicy,
    TopicCreation,
)

_LOG = logging.getLogger("doorkeeper.policies")


class Policies:
    """The policies of a server; None accepts everything. ``clock`` gives monotonic seconds."""

    def __init__(
        self,
        create_topic: CreateTopicPolicy | None = None,
        alter_config: AlterConfigPolicy | None = None,
        *,
        slow_ms: int = 50,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._create_topic = create_topic
        self._alter_config = alter_config
        self._slow = SlowCalls(slow_ms, clock)

    def check_creation(self, creation: TopicCreation) -> None:
        """Ask the policy of new topics."""
        if self._create_topic is not None:
            self._ask(self._create_topic, creation)

    def check_alteration(self, alteration: ConfigAlteration) -> None:
        """Ask the policy of configurations."""
        if self._alter_config is not None:
            self._ask(self._alter_config, alteration)

    def close(self) -> None:
        """Close both; log what they raise."""
        for policy in (self._create_topic, self._alter_config):
            if policy is not None:
                closed(policy, "policy", _LOG)

    def _ask(
        self,
        policy: CreateTopicPolicy | AlterConfigPolicy,
        request: TopicCreation | ConfigAlteration,
    ) -> None:
        began_s = self._slow.clock()
        try:
            policy.validate(request)  # type: ignore[arg-type]  # each is given its own kind
        except ApiError:
            raise
        except (Exception, SystemExit) as error:
            _LOG.exception("the policy failed: %s", name_of(policy))
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
        finally:
            took_s = self._slow.clock() - began_s
            if self._slow.must_log("validate", took_s):
                _LOG.warning(
                    "the policy %s blocked the event loop for %d ms; policies must not block",
                    name_of(policy),
                    took_s * 1000,
                )

"""Calls the policies of a server, and enforces their contract.

A refusal is an ``ApiError``. Any other exception fails the topic or resource with -1, as on a
controller, and is logged. Calls run on the event loop: slow ones are logged at most once a minute.

Source: ``ReplicationControlManager.maybeCheckCreateTopicPolicy`` and
``ConfigurationControlManager.validateAlterConfig`` (4.3.1).
"""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Final

from doorkeeper.base.errors import ApiError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from doorkeeper.server.resources.policies.contract import (
        AlterConfigPolicy,
        ConfigAlteration,
        CreateTopicPolicy,
        TopicCreation,
    )

WARN_EVERY_S: Final = 60.0

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
        self._slow_ms = slow_ms
        self._clock = clock
        self._warned_s = -math.inf

    def check_creation(self, creation: TopicCreation) -> None:
        """Ask the policy of new topics.

        Raises:
            ApiError: it refuses the topic, or failed.

        """
        if self._create_topic is not None:
            self._ask(self._create_topic, creation)

    def check_alteration(self, alteration: ConfigAlteration) -> None:
        """Ask the policy of configurations.

        Raises:
            ApiError: it refuses the change, or failed.

        """
        if self._alter_config is not None:
            self._ask(self._alter_config, alteration)

    def close(self) -> None:
        """Close both; log what they raise."""
        for policy in (self._create_topic, self._alter_config):
            if policy is None:
                continue
            try:
                policy.close()
            except (Exception, SystemExit):  # the rest of the server still closes
                _LOG.exception("the policy did not close: %s", _name_of(policy))

    def _ask(
        self,
        policy: CreateTopicPolicy | AlterConfigPolicy,
        request: TopicCreation | ConfigAlteration,
    ) -> None:
        began_s = self._clock()
        try:
            policy.validate(request)  # type: ignore[arg-type]  # each is given its own kind
        except ApiError:
            raise
        except (Exception, SystemExit) as error:
            _LOG.exception("the policy failed: %s", _name_of(policy))
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR) from error
        finally:
            self._note_time(policy, began_s, self._clock())

    def _note_time(self, policy: object, began_s: float, ended_s: float) -> None:
        took_ms = (ended_s - began_s) * 1000
        if took_ms > self._slow_ms and ended_s - self._warned_s >= WARN_EVERY_S:
            self._warned_s = ended_s
            _LOG.warning(
                "the policy %s blocked the event loop for %d ms: it must not wait",
                _name_of(policy),
                took_ms,
            )


def _name_of(policy: object) -> str:
    return f"{type(policy).__module__}.{type(policy).__qualname__}"

"""What brokers describe, compared with the desired ACLs; an equal answer is not decoded again."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

from doorkeeper.client.bindings import bindings_of
from doorkeeper.client.errors import ApiFailure
from doorkeeper.sync.drift import AclDrift, compare, known_bindings
from doorkeeper_wire.messages.describe_acls import DescribeAclsResponse

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from doorkeeper.acls.model import AclBinding
    from doorkeeper.acls.plan import SelectorUnion
    from doorkeeper.sync.drift import DesiredChange


class Descriptions:
    """The last answer of each broker, as a hash, and its drift.

    Brokers describe the same ACLs in orders of their own.
    """

    def __init__(self, scope: SelectorUnion) -> None:
        self._scope = scope
        self._drifts: dict[int, tuple[bytes, AclDrift]] = {}

    def note(self, change: DesiredChange) -> None:
        """Take a change of the desired bindings."""
        # A new one: a thread that still compares with the bindings before writes into the old one.
        self._drifts = {
            broker: (digest, drift.after_goal(change))
            for broker, (digest, drift) in self._drifts.items()
        }

    def reader(self, broker: int, desired: AbstractSet[AclBinding]) -> DescriptionReader:
        """Return what decodes the next answer of a broker."""
        return DescriptionReader(self._scope, self._drifts, broker, desired)


class DescriptionReader(NamedTuple):
    """Decodes an answer of one broker, in the place of the response's class.

    A client decodes a long one in a thread.
    """

    scope: SelectorUnion
    drifts: dict[int, tuple[bytes, AclDrift]]
    broker: int
    desired: AbstractSet[AclBinding]

    def decode(self, frame: bytes, at: int, version: int) -> tuple[AclDrift, int]:
        """Return the drift that the body of a response shows.

        100,000 ACLs take 0.3 to 0.6 s, an equal answer 2 ms.

        Raises:
            ApiFailure: it is an error.
            Malformed: it is damaged.
        """
        digest = hashlib.blake2b(memoryview(frame)[at:], digest_size=32).digest()
        last = self.drifts.get(self.broker)
        if last is not None and last[0] == digest:
            return last[1], len(frame)
        answer, end = DescribeAclsResponse.decode(frame, at, version)
        if answer.error_code:
            raise ApiFailure(answer.error_code, answer.error_message)
        drift = compare(self.desired, set(known_bindings(bindings_of(answer))), self.scope)
        for _, other in list(self.drifts.values()):
            # One set for all brokers that agree.
            if other.outside == drift.outside:
                drift = drift._replace(outside=other.outside)
        self.drifts[self.broker] = digest, drift
        return drift, end

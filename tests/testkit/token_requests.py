"""Requests about delegation tokens at random, for servers that have no secret."""

import random
from typing import Any

from doorkeeper_wire.messages import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)

TYPES = ("User", "User", "User", "Group", "")
NAMES = ("alice", "bob", "zoe", "", "\u00e9")
PERIODS = (-1, 0, 1, 3_600_000, 2**63 - 1, -(2**63))
HMACS = (b"", b"x", b"h" * 64)


class RandomTokens:
    """One stream of them, drawn from the chance of its owner."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def create(self) -> tuple[Any, Any, int, int]:
        """Return a creation, its answer and its versions."""
        kind = create_delegation_token
        request = kind.CreateDelegationTokenRequest(
            owner_principal_type=self._chance.choice((*TYPES, None)),
            owner_principal_name=self._chance.choice((*NAMES, None)),
            renewers=tuple(kind.CreatableRenewers(**each) for each in self._principals()),
            max_lifetime_ms=self._chance.choice(PERIODS),
        )
        return request, kind.CreateDelegationTokenResponse, 1, 3

    def renew(self) -> tuple[Any, Any, int, int]:
        """Return a renewal, its answer and its versions."""
        kind = renew_delegation_token
        request = kind.RenewDelegationTokenRequest(
            hmac=self._chance.choice(HMACS), renew_period_ms=self._chance.choice(PERIODS)
        )
        return request, kind.RenewDelegationTokenResponse, 1, 2

    def expire(self) -> tuple[Any, Any, int, int]:
        """Return an end, its answer and its versions."""
        kind = expire_delegation_token
        request = kind.ExpireDelegationTokenRequest(
            hmac=self._chance.choice(HMACS), expiry_time_period_ms=self._chance.choice(PERIODS)
        )
        return request, kind.ExpireDelegationTokenResponse, 1, 2

    def describe(self) -> tuple[Any, Any, int, int]:
        """Return a question, its answer and its versions."""
        kind = describe_delegation_token
        owners = None
        if self._chance.random() < 0.7:
            owners = tuple(kind.DescribeDelegationTokenOwner(**each) for each in self._principals())
        request = kind.DescribeDelegationTokenRequest(owners=owners)
        return request, kind.DescribeDelegationTokenResponse, 1, 3

    def _principals(self) -> list[dict[str, Any]]:
        return [
            {
                "principal_type": self._chance.choice(TYPES),
                "principal_name": self._chance.choice(NAMES),
            }
            for _ in range(self._chance.randint(0, 3))
        ]

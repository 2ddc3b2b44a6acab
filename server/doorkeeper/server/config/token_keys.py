"""The keys of delegation tokens: ``delegation.token.*``."""

from __future__ import annotations

from typing import Final

from doorkeeper.base.key import Applies, Key
from doorkeeper.base.values import LONG_MAX, KeyType, at_least

TOKENS: Final = (
    Key(
        name="delegation.token.secret.key",
        type=KeyType.PASSWORD,
        default=None,
        doc=(
            "The secret of delegation tokens, which are disabled without it. Tokens of another"
            " secret cannot authenticate, and cannot be renewed or expired."
        ),
        applies=Applies.RELOAD,
    ),
    Key(
        name="delegation.token.master.key",
        type=KeyType.PASSWORD,
        default=None,
        doc="The older name of delegation.token.secret.key; applies if that is absent.",
        declared=False,
        applies=Applies.RELOAD,
    ),
    Key(
        name="delegation.token.max.lifetime.ms",
        type=KeyType.LONG,
        default="604800000",
        doc="The maximum lifetime of a delegation token, including renewals.",
        check=at_least(1, LONG_MAX),
        applies=Applies.RELOAD,
    ),
    Key(
        name="delegation.token.expiry.time.ms",
        type=KeyType.LONG,
        default="86400000",
        doc="The time until a delegation token expires without a renewal.",
        check=at_least(1, LONG_MAX),
        applies=Applies.RELOAD,
    ),
    Key(
        name="delegation.token.expiry.check.interval.ms",
        type=KeyType.LONG,
        default="3600000",
        doc="Interval of the deletion of expired delegation tokens.",
        importance="LOW",
        check=at_least(1, LONG_MAX),
        applies=Applies.RELOAD,
    ),
)
"""All keys, in the order of the documentation."""

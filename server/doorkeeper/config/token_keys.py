"""The keys of delegation tokens: ``delegation.token.*``."""

from __future__ import annotations

from typing import Final

from doorkeeper.config.key import Applies, Key
from doorkeeper.config.values import LONG_MAX, KeyType, at_least

TOKENS: Final = (
    Key(
        name="delegation.token.secret.key",
        type=KeyType.PASSWORD,
        default=None,
        doc=(
            "The secret under which delegation tokens are made. Without it there are none. Tokens"
            " of another secret do not log in, and cannot be renewed or expired."
        ),
        applies=Applies.RELOAD,
    ),
    Key(
        name="delegation.token.master.key",
        type=KeyType.PASSWORD,
        default=None,
        doc="The older name of delegation.token.secret.key; counts where that is absent.",
        declared=False,
        applies=Applies.RELOAD,
    ),
    Key(
        name="delegation.token.max.lifetime.ms",
        type=KeyType.LONG,
        default="604800000",
        doc="For how long a delegation token may be renewed.",
        check=at_least(1, LONG_MAX),
        applies=Applies.RELOAD,
    ),
    Key(
        name="delegation.token.expiry.time.ms",
        type=KeyType.LONG,
        default="86400000",
        doc="How long a delegation token lives until it must be renewed.",
        check=at_least(1, LONG_MAX),
        applies=Applies.RELOAD,
    ),
    Key(
        name="delegation.token.expiry.check.interval.ms",
        type=KeyType.LONG,
        default="3600000",
        doc="How often delegation tokens that have expired are deleted.",
        importance="LOW",
        check=at_least(1, LONG_MAX),
        applies=Applies.RELOAD,
    ),
)
"""All keys, in the order of the documentation."""

"""How large a world is, how skewed and how odd. The same shape gives the same world."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The measures of a world; the defaults are a company's cluster.

    ``skew`` is Zipf's exponent: the question of rank r comes up in proportion to 1 / r ** skew.
    ``questions`` is how many distinct ones are aimed at; a small world may hold fewer.
    ``everyone_grants`` of the ACLs are for ``User:*``. ``deny_share`` of them are DENY.
    """

    seed: int = 1
    principals: int = 2_000
    topics: int = 5_000
    groups: int = 1_500
    transactional_ids: int = 400
    acls: int = 20_000
    questions: int = 240_000
    everyone_grants: int = 40
    deny_share: float = 0.03
    skew: float = 1.05
    odd_names: bool = True

    def __post_init__(self) -> None:
        """Reject numbers of which no world can be made.

        Raises:
            ValueError: a number is too small.

        """
        for name in ("principals", "topics", "groups", "transactional_ids", "acls", "questions"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; at least 1 is needed")

    @property
    def teams(self) -> int:
        """Return how many teams share the cluster: about fifty topics each."""
        return max(1, min(self.topics // 50 or 1, self.principals, self.groups))


SMALL = Shape(principals=60, topics=100, groups=40, transactional_ids=10, acls=400, questions=3_000)
"""A world for tests: made in a fraction of a second."""

EVERYONE = Shape(acls=25_000, everyone_grants=5_000)
"""The default world with many grants for ``User:*``, on which joins by principal break down."""

"""What every repository shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.acls.model import exactly
from doorkeeper.cli.repositories.sessions import ClusterSession
from testkit.acl import READ, allow, topic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.base.errors import ApiError

A = allow("a", READ, topic("t"))


class FilterLog(ClusterSession):
    """A session that keeps the filters of deletions."""

    def __init__(self) -> None:
        self.filters: list[AclBindingFilter] = []

    async def find(self, filters: Sequence[AclBindingFilter]) -> list[AclBinding]:
        raise NotImplementedError

    async def add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        raise NotImplementedError

    async def remove_matching(self, filters: Sequence[AclBindingFilter]) -> list[ApiError | None]:
        self.filters += filters
        return [None] * len(filters)


async def test_removal_filter_matches_only_its_binding() -> None:
    session = FilterLog()

    assert await session.remove([A]) == [None]
    assert session.filters == [exactly(A)]

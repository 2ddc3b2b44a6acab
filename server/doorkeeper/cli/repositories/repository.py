"""The interface of ACL repositories.

A repository is read as a whole, searched, or changed in a session.

    repository        read    change    describes super users and defaults
    file              yes     no        no
    store             yes     yes       yes
    store, as of a
    moment; backup    yes     no        yes; of a backup, no
    live cluster      yes     yes       no: the Kafka protocol has no request for it
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from doorkeeper.acls.entities.model import EntitySet
from doorkeeper.acls.filters import known_bindings, matches
from doorkeeper.acls.live_changes import LiveCluster
from doorkeeper.cli.repositories.errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.formats.acceptances import Acceptance
    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.acls.plan import Plan, Selector
    from doorkeeper.cli.repositories.addresses import Address
    from doorkeeper.cli.repositories.sessions import ClusterSession, Listing


class PlacedAcceptance(NamedTuple):
    """An accepted finding, and the file and line in which it stands."""

    position: str
    acceptance: Acceptance


class AclContents(Struct, frozen=True):
    """The ACLs of a repository as of one moment."""

    bindings: list[AclBinding]
    policy: Policy | None = None
    """Super users and the default for resources without ACLs; None if the repository has none."""
    policy_from: str = "configured"
    """Where the policy comes from."""
    authorizer: str | None = None
    """The class that decides there; None if it is StandardAuthorizer, or is not known."""
    unknown: int = 0
    """The number of ACLs that ``bindings`` lacks: a newer server has codes unknown here."""
    doubtful: frozenset[AclBinding] = frozenset()
    """Those of ``bindings`` that not all brokers list: each of them may exist, or not."""
    networks: bool | None = None
    """Whether hosts that are networks match the addresses in them; None if it is not known."""
    revision: int | None = None
    """The revision of a store; None if the repository has none."""
    cluster_id: str | None = None
    """The id of the cluster, or that of a store; None if it is not known."""
    login: str | None = None
    """The principal that a live cluster described these to; None elsewhere, or if not known."""
    note: str | None = None
    """A remark for answers from these contents."""
    owned: tuple[Selector, ...] = ()
    """The parts of all ACLs that files declare as theirs; empty if none does."""
    accepted: tuple[PlacedAcceptance, ...] = ()
    """The findings that files accept."""
    entities: EntitySet = EntitySet()
    """The topics, users and quotas that files have beside ACLs."""
    users: frozenset[str] | None = None
    """The users with credentials; None if they are not known."""
    topics: frozenset[str] | None = None
    """The topics that exist; None if they are not known."""

    def plan(self, make_plan: Callable[[list[AclBinding]], Plan]) -> Plan:
        """Return a plan that adds what not all brokers list, and removes what any of them lists.

        To create an ACL that exists, or to delete one that does not, changes nothing.
        """
        plan = make_plan(self.bindings)
        if not self.doubtful:
            return plan
        certain = make_plan([one for one in self.bindings if one not in self.doubtful])
        return replace(plan, added=certain.added, unchanged=certain.unchanged)

    # asyncio.run restores the handler of Ctrl-C. signal.getsignal formats the finished task then,
    # and with it the result, for an exception that it drops: a quarter of a plan with 80,000 ACLs.
    def __repr__(self) -> str:
        """Return the number of the bindings, without each."""
        return f"AclContents({len(self.bindings)} bindings, revision={self.revision})"


def contents_of(listing: Listing) -> AclContents:
    """Return the contents of a cluster: the ACLs of a listing whose codes are known."""
    known = known_bindings(listing.bindings)
    unknown = len(listing.bindings) - len(known)
    return AclContents(known, unknown=unknown, doubtful=listing.doubtful)


class AclRepository(ABC):
    """ACLs at an address. Nothing is opened before a method is called."""

    address: Address
    description: str
    """The repository in words, as in "the brokers at localhost:9092"."""

    @abstractmethod
    async def read(self) -> AclContents:
        """Return all ACLs, and the policy that the repository describes.

        Raises:
            RepositoryError: it cannot be read.
        """

    async def find(self, filters: Sequence[AclBindingFilter]) -> AclContents:
        """Return the contents with only the ACLs that match any of the filters, sorted.

        Codes of a newer server are UNKNOWN.

        Raises:
            RepositoryError: it cannot be read.
        """
        contents = await self.read()
        return replace(contents, bindings=matching(contents.bindings, filters))

    def change(self, *, create: bool = False) -> AbstractAsyncContextManager[ClusterSession]:
        """Open the repository for changes; ``create`` makes a store that does not exist yet.

        Raises:
            RepositoryError: it cannot be opened, or cannot be changed.
        """
        del create
        raise RepositoryError(f"{self.description} is read-only")


def matching(
    bindings: Sequence[AclBinding], filters: Sequence[AclBindingFilter]
) -> list[AclBinding]:
    """Return the bindings that match any of the filters, sorted, each once."""
    # Without an index: a list is read once, and building one costs more than a search.
    return sorted(
        {binding for binding in bindings if any(matches(filter, binding) for filter in filters)}
    )


def live_cluster_of(*, networks: bool | None, policy: Policy | None) -> LiveCluster:
    """Return a store for the rules of changes; None is not known.

    Nobody logs in to a store. Other nodes may serve its ACLs while they change, or a server does
    after the next start. A class of one's own has rules of its own for networks.
    """
    return LiveCluster(
        matches_networks=networks is not False,
        open_by_default=None if policy is None else policy.allow_everyone,
    )

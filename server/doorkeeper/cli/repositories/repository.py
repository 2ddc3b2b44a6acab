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

from doorkeeper.acls.entities.model import EntitySet
from doorkeeper.acls.live_changes import LiveCluster
from doorkeeper.acls.model import exactly
from doorkeeper.cli.repositories.errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import AbstractAsyncContextManager

    from doorkeeper.acls.decision import Policy
    from doorkeeper.acls.entities.model import Entity
    from doorkeeper.acls.entities.plan import EntityChange
    from doorkeeper.acls.formats.acceptances import Acceptance
    from doorkeeper.acls.model import AclBinding, AclBindingFilter
    from doorkeeper.acls.plan import Plan, Selector
    from doorkeeper.base.errors import ApiError
    from doorkeeper.cli.repositories.addresses import Address
    from doorkeeper.client.identity import ScramLogin


class PlacedAcceptance(NamedTuple):
    """An accepted finding, and the file and line in which it stands."""

    place: str
    acceptance: Acceptance


class AclContents(NamedTuple):
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
    networks: bool | None = None
    """Whether hosts that are networks match the addresses in them; None if it is not known."""
    revision: int | None = None
    """The revision of a store; None if the repository has none."""
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

    # asyncio.run restores the handler of Ctrl-C. signal.getsignal formats the finished task then,
    # and with it the result, for an exception that it drops: a quarter of a plan with 80,000 ACLs.
    def __repr__(self) -> str:
        """Return the number of the bindings, without each."""
        return f"AclContents({len(self.bindings)} bindings, revision={self.revision})"


class AclSession(ABC):
    """A repository that is open for changes."""

    @abstractmethod
    async def find(self, filters: Sequence[AclBindingFilter]) -> list[AclBinding]:
        """Return the bindings that match any of the filters, each once.

        Raises:
            RepositoryError: the repository cannot be read.

        """

    def refuse_after(self, revision: int, concerns: Callable[[AclBinding], bool]) -> None:
        """Refuse changes after those of others, of ACLs of a condition, behind a revision.

        Raises:
            RepositoryError: it cannot tell.

        """
        del revision, concerns
        raise RepositoryError("only a store can tell what others have changed")

    async def live_cluster(self, present: AbstractSet[AclBinding], plan: Plan) -> LiveCluster:
        """Return what the rules of changes need to know of the cluster for a plan.

        Raises:
            RepositoryError: it cannot be read.

        """
        del present, plan
        return LiveCluster()

    async def own_credential(self) -> ScramLogin | None:
        """Return the credential of SCRAM that this session logs in with; None without one."""
        return None

    async def entities(self, wanted: EntitySet) -> list[Entity] | None:
        """Return the present topics, credentials and quotas of the wanted or owned kinds.

        None if only ACLs can be read and changed there.

        Raises:
            RepositoryError: they cannot be read.

        """
        del wanted
        return None

    async def alter_entities(
        self, changes: Sequence[EntityChange], passwords: Mapping[str, str]
    ) -> list[ApiError | None]:
        """Make changes; return the error of each, or None. ``passwords`` are by reference.

        Raises:
            RepositoryError: it is unknown whether they were made.

        """
        del changes, passwords
        raise RepositoryError("only ACLs can be changed there")

    @abstractmethod
    async def add(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        """Create bindings; return the error of each, or None, in order.

        Raises:
            RepositoryError: it is unknown whether they were created.

        """

    @abstractmethod
    async def remove_matching(self, filters: Sequence[AclBindingFilter]) -> list[ApiError | None]:
        """Delete the bindings that match filters; return the first error of each, or None.

        Raises:
            RepositoryError: it is unknown whether they were deleted.

        """

    async def remove(self, bindings: Sequence[AclBinding]) -> list[ApiError | None]:
        """Delete exactly these bindings; return the error of each, or None, in order.

        Raises:
            RepositoryError: it is unknown whether they were deleted.

        """
        return await self.remove_matching([exactly(each) for each in bindings])


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

    @abstractmethod
    async def find(self, filters: Sequence[AclBindingFilter]) -> list[AclBinding]:
        """Return the bindings that match any of the filters, each once.

        Codes of a newer server are UNKNOWN.

        Raises:
            RepositoryError: it cannot be read.

        """

    async def entities(self, wanted: EntitySet) -> list[Entity] | None:
        """Return the present topics, credentials and quotas of the wanted or owned kinds.

        None if only ACLs can be read and changed there.

        Raises:
            RepositoryError: they cannot be read.

        """
        del wanted
        return None

    async def read_live_cluster(self, contents: AclContents, plan: Plan) -> LiveCluster | None:
        """Return what the rules of changes need to know for a plan; None where nothing can change.

        Raises:
            RepositoryError: it cannot be read.

        """
        del contents, plan
        return None

    async def own_credential(self) -> ScramLogin | None:
        """Return the credential of SCRAM that its sessions log in with; None without one."""
        return None

    @abstractmethod
    def change(self, *, create: bool = False) -> AbstractAsyncContextManager[AclSession]:
        """Open the repository for changes; ``create`` makes a store that does not exist yet.

        Raises:
            RepositoryError: it cannot be opened, or cannot be changed.

        """


def known_bindings(bindings: Sequence[AclBinding]) -> list[AclBinding]:
    """Return the bindings without UNKNOWN codes.

    Only they may be compared with a desired set: that set cannot name the others, so that each
    plan would remove them.
    """
    return [each for each in bindings if _is_known(each)]


def _is_known(binding: AclBinding) -> bool:
    (resource_type, _, pattern_type), entry = binding
    return 0 not in (resource_type, pattern_type, entry.operation, entry.permission_type)

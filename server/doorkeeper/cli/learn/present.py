"""The ACLs in force, with which learned ones are compared before they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from doorkeeper.acls.bulk import snapshot_of
from doorkeeper.acls.decision import Policy
from doorkeeper.acls.effective_changes import DecisionState, new_access
from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.words import region_words
from doorkeeper.base.properties import PropertiesFile
from doorkeeper.cli.acls.addresses import Location, read_contents
from doorkeeper.cli.repositories.addresses import Address
from doorkeeper.cli.terminal import counted, fail, printable

NOT_COMPARED: Final = "note: without --acls, these ACLs were not compared with the current ones"
SHOWN_MAX: Final = 20


class PresentAcls(Struct, frozen=True):
    """A set of ACLs, and how the cluster decides where that is known."""

    name: str
    bindings: Sequence[AclBinding]
    policy: Policy
    networks: bool

    def new_access(self, learned: Iterable[AclBinding]) -> list[str]:
        """Return the regions of requests that learned ACLs would newly allow, in words."""
        before, after = (
            DecisionState(self.policy, snapshot_of(acls, networks=self.networks))
            for acls in (self.bindings, [*self.bindings, *learned])
        )
        return [printable(region_words(region)) for region in new_access(before, after)]


def read_present(address: Address, command_config: PropertiesFile | None) -> PresentAcls:
    """Return the ACLs at an address; the process ends if they cannot be read."""
    location = Location(address, command_config)
    contents = read_contents(location)
    return PresentAcls(
        location.name,
        contents.bindings,
        contents.policy or Policy(),
        contents.networks is not False,
    )


def refuse(regions: Sequence[str]) -> None:
    """End the process if learned ACLs would newly allow some regions."""
    if regions:
        count = f"{counted(len(regions), 'region')} of requests"
        more = len(regions) - SHOWN_MAX
        fail(
            [
                f"these ACLs would newly allow {count}; to write them anyway, add --allow-wider",
                *(f"  {region}" for region in regions[:SHOWN_MAX]),
                *([f"  and {more} more"] if more > 0 else []),
            ]
        )

"""The ACLs in force, with which learned ones are compared before they are written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from doorkeeper.acls.bulk import snapshot_of
from doorkeeper.acls.decision import Policy
from doorkeeper.acls.effective_changes import DecisionState, new_access
from doorkeeper.acls.explanation import apply_change
from doorkeeper.acls.model import AclBinding
from doorkeeper.acls.words import region_words
from doorkeeper.base.properties import PropertiesFile
from doorkeeper.cli.acls.addresses import Location, read_contents
from doorkeeper.cli.repositories.addresses import Address
from doorkeeper.cli.terminal import counted, fail, printable

NOT_COMPARED: Final = "note: without --acls, these ACLs were not compared with the current ones"
SHOWN_MAX: Final = 20


def read_present(address: Address, command_config: PropertiesFile | None) -> DecisionState:
    """Return the ACLs at an address; the process ends if they cannot be read."""
    contents = read_contents(Location(address, command_config))
    snapshot = snapshot_of(contents.bindings, networks=contents.networks is not False)
    return DecisionState(contents.policy or Policy(), snapshot)


def new_regions(present: DecisionState, learned: Iterable[AclBinding]) -> list[str]:
    """Return the regions of requests that learned ACLs would newly allow, in words."""
    after = present._replace(snapshot=apply_change(present.snapshot, learned))
    return [printable(region_words(region)) for region in new_access(present, after)]


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

"""Sets of ACLs that the console reads, and reads again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.cli.acls.addresses import Location
from doorkeeper.cli.repositories.addresses import parse_address
from doorkeeper.console.sets import Sets
from testkit.consoles import ACLS, HEAD, wait_for

if TYPE_CHECKING:
    from pathlib import Path


def test_change_in_a_folder_behind_a_link_is_noticed(tmp_path: Path) -> None:
    teams, shared = tmp_path / "teams", tmp_path / "shared"
    teams.mkdir()
    shared.mkdir()
    (teams / "linked").symlink_to(shared)
    (shared / "acls.csv").write_text(HEAD)
    sets = Sets([Location(parse_address(str(teams)))])
    sets.start()
    wait_for(sets)

    (shared / "acls.csv").write_text(ACLS)
    sets.fresh(str(teams))
    wait_for(sets)

    reading = sets.states[str(teams)].reading
    assert reading is not None
    assert len(reading.contents.bindings) == 9
    sets.close()

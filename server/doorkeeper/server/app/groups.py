"""The declared groups. Modules for YAML are imported only with a file of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.server.app.errors import StartError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from doorkeeper.server.resources.cluster import Group


def groups_of(file: Path | None) -> Mapping[str, Group]:
    """Return the groups of a file by id; none without a file.

    Raises:
        StartError: with every fault of the file.
    """
    if file is None:
        return {}
    from doorkeeper.server.app.declared_groups import load
    from doorkeeper.server.config.document import FaultyDocument

    try:
        return load(file)
    except FaultyDocument as error:
        raise StartError(*map(str, error.problems)) from error

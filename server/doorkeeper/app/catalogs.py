"""The catalog of a configuration; what reads YAML is imported where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.app.errors import StartError

if TYPE_CHECKING:
    from pathlib import Path

    from doorkeeper.catalog.loading import Catalog


def catalog_of(file: Path | None) -> Catalog | None:
    """Return what the file declares; None where there is no file.

    Raises:
        StartError: with every fault of the file.

    """
    if file is None:
        return None
    from doorkeeper.catalog.errors import CatalogError  # noqa: PLC0415  see above
    from doorkeeper.catalog.loading import load  # noqa: PLC0415

    try:
        return load(file)
    except CatalogError as error:
        raise StartError(*map(str, error.problems)) from error

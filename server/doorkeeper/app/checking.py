"""What a configuration names, looked at without starting anything: the authorizer, the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorkeeper.app.authorizing import check_authorizer
from doorkeeper.app.catalogs import catalog_of
from doorkeeper.app.errors import StartError

if TYPE_CHECKING:
    from doorkeeper.config.settings import Settings


def check_named(settings: Settings) -> None:
    """Check both.

    Raises:
        StartError: with the problems of both.

    """
    problems: list[str] = []
    try:
        check_authorizer(settings)
    except StartError as error:
        problems += error.problems
    try:
        catalog_of(settings.catalog_file)
    except StartError as error:
        problems += error.problems
    if problems:
        raise StartError(*problems)

"""What came of the items of an update."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Results(NamedTuple):
    """What came of the items of an update, in order: results of the API's own kind.

    ``errors`` are what awaitables of an authorizer raised and clients are not told; ``timed_out``
    counts items that were not complete in time.
    """

    values: Sequence[Any]
    errors: Sequence[BaseException] = ()
    timed_out: int = 0

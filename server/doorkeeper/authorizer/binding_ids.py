"""The ids of bindings: they count up from a random number.

Stores keep bindings in the order of their ids. What is created together has ids that differ only
at their end and so lies together: a thousand ACLs touch forty pages of the database. With an id
drawn for each it was a page for each, written twice, as soon as there were some ten thousand ACLs.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_BYTES: Final = 16
_NUMBERS: Final = 1 << 8 * _BYTES

_HEAD: Final = 20
"""So many characters of the 22 stay the same while the last byte is counted through."""

_TAILS: Final = tuple(urlsafe_b64encode(bytes([last])).decode("ascii")[:2] for last in range(256))
"""The two characters behind them, by the last byte."""


class BindingIds:
    """Ids for one process: 22 characters of URL-safe base64, as Kafka writes 16 bytes.

    No id begins with a hyphen, as none of Kafka's does. An id is no secret and proves nothing, so
    it may be guessed from another one. Two nodes, or two starts, would have to draw numbers of 128
    bits that lie as close together as there are ACLs before an id came twice.
    """

    __slots__ = ("_head", "_last", "_random_bytes")

    def __init__(self, random_bytes: Callable[[int], bytes] = os.urandom) -> None:
        """Draw the number to count from."""
        self._random_bytes = random_bytes
        self._last = int.from_bytes(random_bytes(_BYTES))
        self._head = _head(self._last)

    def __call__(self) -> str:
        """Return the next id."""
        self._last = last = (self._last + 1) % _NUMBERS
        if not last & 0xFF:
            self._head = _head(last)
        while self._head.startswith("-"):
            # Counting on would take 2**122 steps.
            drawn = int.from_bytes(self._random_bytes(_BYTES))
            self._last = last = (drawn + 1) % _NUMBERS
            self._head = _head(last)
        return self._head + _TAILS[last & 0xFF]


def _head(number: int) -> str:
    return urlsafe_b64encode(number.to_bytes(_BYTES)).decode("ascii")[:_HEAD]

"""Pickled values for a process that lacks the test's modules."""

from __future__ import annotations

import io
import pickle
from typing import Any, Final

_PLAIN: Final[tuple[type[Any], ...]] = (str, bytes, int, float)


def dumps(value: object) -> bytes:
    """Pickle a value; instances of the test's subclasses of str and the like become plain.

    Loading a member of a ``StrEnum``, for example, would import the test otherwise.
    """
    written = io.BytesIO()
    _Pickler(written).dump(value)
    return written.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:  # noqa: ANN401  as pickle has it
        """Return the reduced value; NotImplemented leaves it to pickle."""
        if type(value).__module__.partition(".")[0] == __name__.partition(".")[0]:
            return NotImplemented
        for plain in _PLAIN:
            if isinstance(value, plain):
                # What the class does with its own values, as an Enum's str, is not asked.
                return plain, plain.__getnewargs__(value)
        return NotImplemented

"""Values for another process, which has none of the test's own modules."""

from __future__ import annotations

import io
import pickle
from typing import Any, Final

_PLAIN: Final[tuple[type[Any], ...]] = (str, bytes, int, float)


def dumps(value: object) -> bytes:
    """Return a value as bytes for ``pickle.load``; a text of a class of the test's is a text.

    A member of a ``StrEnum``, say, would otherwise be loaded by importing the test.
    """
    written = io.BytesIO()
    _Pickler(written).dump(value)
    return written.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: object) -> Any:  # noqa: ANN401  as pickle has it
        """Say how to make a value again; NotImplemented leaves it to pickle."""
        if type(value).__module__.partition(".")[0] == __name__.partition(".")[0]:
            return NotImplemented
        for plain in _PLAIN:
            if isinstance(value, plain):
                # What the class does with its own values, as an Enum's str, is not asked.
                return plain, plain.__getnewargs__(value)
        return NotImplemented

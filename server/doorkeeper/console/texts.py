"""Long texts of forms: links have a mark in their place, and they are kept in memory."""

from __future__ import annotations

import secrets
import threading
from typing import Final

KEPT_MAX: Final = 50
KEPT_LENGTH_MAX: Final = 50_000_000
"""The length of all texts; one form is shorter."""

TEXT_BYTES_MAX: Final = 4_000_000
IN_LINK_MAX: Final = 2_000
"""The length of a text that stands in the link itself, so that it can be sent to others."""

_MARK: Final = "text:"


class Texts:
    """The newest texts, by their marks."""

    def __init__(self) -> None:
        """Begin without texts."""
        self._texts: dict[str, str] = {}
        self._lock = threading.Lock()

    def keep(self, text: str, *, is_secret: bool = False) -> str:
        """Return what stands for a text in a link: a short one itself, else its mark."""
        if len(text) <= IN_LINK_MAX and not is_secret and not text.startswith(_MARK):
            return text
        # A digest would let others guess a short secret.
        mark = f"{_MARK}{secrets.token_urlsafe(18)}"
        with self._lock:
            self._texts[mark] = text
            while (
                len(self._texts) > KEPT_MAX or sum(map(len, self._texts.values())) > KEPT_LENGTH_MAX
            ):
                del self._texts[next(iter(self._texts))]
        return mark

    def text(self, value: str) -> str:
        """Return the text that a value of a link stands for; KeyError if it is no longer kept."""
        return self._texts[value] if value.startswith(_MARK) else value

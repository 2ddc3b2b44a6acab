"""What readiness looks at: each thing has a name, a verdict, and a word for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Verdict(NamedTuple):
    """What came of a check. The detail is for operators, and holds no secret."""

    ok: bool
    detail: str


Check = Callable[[], Verdict]


class Readiness:
    """The checks of a server. For the loop's thread; none of them blocks."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        """Take the checks by name, in the order in which they are told."""
        self._checks = checks

    def now(self) -> dict[str, Verdict]:
        """Look at everything; a check that raises has failed."""
        return {name: _looked(check) for name, check in self._checks.items()}


def _looked(check: Check) -> Verdict:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a check that cannot say yes says no
        return Verdict(ok=False, detail=f"the check failed: {type(error).__name__}")

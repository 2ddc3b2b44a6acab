"""Readiness checks: each has a name, a result, and a detail for operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class CheckResult(NamedTuple):
    """The result of a check. The detail is for operators, and holds no secret."""

    ok: bool
    detail: str


Check = Callable[[], CheckResult]


class Readiness:
    """The checks of a server. Not thread-safe; none of them blocks."""

    def __init__(self, checks: Mapping[str, Check]) -> None:
        """``checks`` are by name, in the order of the page."""
        self._checks = checks

    def now(self) -> dict[str, CheckResult]:
        """Run all checks; a check that raises has failed."""
        # All checks run, so that the page shows every fault and not the first one only.
        return {name: _run(check) for name, check in self._checks.items()}


def _run(check: Check) -> CheckResult:
    try:
        return check()
    except Exception as error:  # a check that cannot say yes says no
        return CheckResult(ok=False, detail=f"the check failed: {type(error).__name__}")

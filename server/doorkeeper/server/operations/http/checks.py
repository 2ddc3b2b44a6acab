"""Readiness checks: each has a name, a result, and a detail for operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct


class CheckResult(Struct, frozen=True):
    """The result of a check. The detail is for operators, and holds no secret."""

    ok: bool
    detail: str


Check = Callable[[], CheckResult]
"""Does not block, and is called in the loop's thread."""


def results_of(checks: Mapping[str, Check]) -> dict[str, CheckResult]:
    """Run all checks, so that the page shows every fault; a check that raises has failed."""
    return {name: _run(check) for name, check in checks.items()}


def _run(check: Check) -> CheckResult:
    try:
        return check()
    except Exception as error:  # a check that cannot say yes says no
        return CheckResult(ok=False, detail=f"the check failed: {type(error).__name__}")

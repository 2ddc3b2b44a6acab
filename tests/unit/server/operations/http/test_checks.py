"""What readiness looks at."""

from __future__ import annotations

from doorkeeper.server.operations.http.pages import CheckResult, results_of


def test_all_checks_are_evaluated_each_time() -> None:
    """In their order, whatever the first one says; one that raises has failed."""
    answers = iter([CheckResult(ok=False, detail="no"), CheckResult(ok=True, detail="yes")])

    def broken() -> CheckResult:
        raise RuntimeError("a secret")

    checks = {"a": lambda: next(answers), "b": broken}

    failed = CheckResult(False, "the check failed: RuntimeError")
    assert results_of(checks) == {"a": CheckResult(False, "no"), "b": failed}
    assert results_of(checks) == {"a": CheckResult(True, "yes"), "b": failed}

"""What readiness looks at."""

from __future__ import annotations

from doorkeeper.http.checks import CheckResult, Readiness


def test_all_checks_are_looked_at_each_time() -> None:
    """In their order, whatever the first one says."""
    answers = iter([CheckResult(ok=False, detail="no"), CheckResult(ok=True, detail="yes")])
    readiness = Readiness(
        {"a": lambda: next(answers), "b": lambda: CheckResult(ok=True, detail="b")}
    )

    assert readiness.now() == {"a": (False, "no"), "b": (True, "b")}
    assert readiness.now() == {"a": (True, "yes"), "b": (True, "b")}


def test_a_check_that_raises_has_failed() -> None:
    """What cannot say yes says no; the others are looked at."""

    def broken() -> CheckResult:
        raise RuntimeError("a secret")

    found = Readiness({"a": broken, "b": lambda: CheckResult(ok=True, detail="")}).now()

    assert found["a"] == (False, "the check failed: RuntimeError")
    assert found["b"].ok

"""What a test lets go wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.testing.faults import FaultKind, LocalFaults, key_of

if TYPE_CHECKING:
    from collections.abc import Callable

CREATE_ACLS = 30


def test_fault_is_active_in_its_block() -> None:
    faults = LocalFaults()
    fault = faults.drop("CreateAcls")

    assert faults.strikes(FaultKind.DROP_BEFORE, CREATE_ACLS) is None
    with fault as entered:
        assert entered is fault
        assert faults.strikes(FaultKind.DROP_BEFORE, CREATE_ACLS) is fault.spec
        assert faults.strikes(FaultKind.DROP_BEFORE, 29) is None
        assert faults.strikes(FaultKind.DROP_AFTER, CREATE_ACLS) is None
    assert faults.strikes(FaultKind.DROP_BEFORE, CREATE_ACLS) is None
    assert fault.struck == 1


def test_fault_may_be_limited() -> None:
    faults = LocalFaults()

    with faults.delay("CreateAcls", ms=1) as always, faults.delay("CreateAcls", ms=2, times=2):
        found = [faults.strikes(FaultKind.DELAY, CREATE_ACLS) for _ in range(4)]

    assert [each.delay_s for each in found if each] == [0.002, 0.002, 0.001, 0.001]
    assert always.struck == 2


def test_invalid_faults_are_rejected() -> None:
    faults = LocalFaults()

    assert key_of("CreateAcls") == CREATE_ACLS
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: faults.drop("CreateAcl"), "did you mean CreateAcls"),
        (lambda: faults.drop("PushTelemetry"), "api: found 'PushTelemetry'"),
        (lambda: faults.error("CreateAcls", "NOT_CONTROLER"), "did you mean NOT_CONTROLLER"),
        (lambda: faults.error("CreateAcls", "?"), "the names in Kafka's Errors"),
        (lambda: faults.error("CreateAcls", 0), "is not an error"),
        (lambda: faults.error("SaslHandshake", 41), "use refuse_login"),
        (lambda: faults.delay("CreateAcls", ms=-1), "allowed: 0 or more"),
        (lambda: faults.drop("CreateAcls", times=0), "allowed: 1 or more"),
    ]
    for wrong, text in cases:
        with pytest.raises(ValueError, match=text):
            wrong()

"""Whether what an authorizer returns is what its contract says."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.acls.model import AclBinding
from doorkeeper.base.errors import ApiError, ErrorCode
from doorkeeper.server.authorizer.contract import (
    AclBindingDeleteResult,
    AclCreateResult,
    AclDeleteResult,
)
from doorkeeper.server.authorizer.result_checks import (
    DELETION,
    are_deleted,
    is_binding,
    is_create_result,
    is_delete_result,
    results_of,
)
from testkit.acl import READ, allow, topic

BINDING: Any = allow("alice", READ, topic("orders"))
PATTERN, ENTRY = BINDING
ERROR = ApiError(ErrorCode.POLICY_VIOLATION)
GONE: Any = AclBindingDeleteResult(BINDING)


@pytest.mark.parametrize(
    "found",
    [
        None,
        tuple(BINDING),
        BINDING._replace(pattern=tuple(PATTERN)),
        BINDING._replace(entry=tuple(ENTRY)),
        *(AclBinding(PATTERN._replace(**{field: 2.5}), ENTRY) for field in PATTERN._fields),
        *(AclBinding(PATTERN, ENTRY._replace(**{field: None})) for field in ENTRY._fields),
        AclBinding(PATTERN._replace(resource_type=2), ENTRY),
    ],
    ids=repr,
)
async def test_invalid_bindings(found: Any) -> None:
    assert not is_binding(found)
    assert not (await are_deleted((AclBindingDeleteResult(found),)))


async def test_valid_results() -> None:
    assert is_create_result(AclCreateResult())
    assert is_create_result(AclCreateResult(ERROR))
    assert is_delete_result(AclDeleteResult(ERROR))
    assert await are_deleted((GONE, GONE._replace(error=ERROR)))
    assert is_delete_result(AclDeleteResult(None, [GONE]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "found",
    [
        None,
        True,
        ERROR,
        (None,),
        AclCreateResult("no"),  # type: ignore[arg-type]
        AclCreateResult(RuntimeError("no")),  # type: ignore[arg-type]
        AclDeleteResult("no"),  # type: ignore[arg-type]
        AclDeleteResult(None, None),  # type: ignore[arg-type]
    ],
    ids=repr,
)
async def test_invalid_results(found: Any) -> None:
    assert not is_create_result(found)
    assert not is_delete_result(found)
    assert not (await are_deleted([GONE, found]))


async def test_deletion_results_are_checked() -> None:
    for wrong in (BINDING, (BINDING,), (GONE._replace(error="no"),)):
        results = await results_of([AclDeleteResult(None, wrong)], DELETION)
        assert results.values[0].error.code is ErrorCode.UNKNOWN_SERVER_ERROR

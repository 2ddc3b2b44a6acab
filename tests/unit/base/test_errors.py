"""Errors that an answer may carry."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode


@pytest.mark.parametrize("code", [ErrorCode.NONE, 0, 4711, None, "POLICY_VIOLATION"])
def test_error_requires_an_error_code(code: Any) -> None:
    with pytest.raises(ValueError):
        ApiError(code, "no")


def test_error_message_must_be_a_string() -> None:
    with pytest.raises(TypeError, match="expected: a string"):
        ApiError(ErrorCode.POLICY_VIOLATION, OSError("no"))  # type: ignore[arg-type]

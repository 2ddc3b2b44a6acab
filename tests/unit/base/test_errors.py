"""Errors that an answer may carry."""

from __future__ import annotations

from typing import Any

import pytest

from doorkeeper.base.errors import ApiError, ErrorCode


@pytest.mark.parametrize("code", [ErrorCode.NONE, 0, 4711, None, "POLICY_VIOLATION"])
def test_an_error_has_a_code_of_an_error(code: Any) -> None:
    """With NONE the answer would say that what failed has been done."""
    with pytest.raises(ValueError):
        ApiError(code, "no")


def test_the_message_is_a_text() -> None:
    """Anything else could not be written into an answer."""
    with pytest.raises(TypeError, match="expected: a text"):
        ApiError(ErrorCode.POLICY_VIOLATION, OSError("no"))  # type: ignore[arg-type]

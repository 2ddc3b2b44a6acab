"""The contract's part about new values, and the standard authorizer as one that keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from doorkeeper.plugins import Reconfigurable
from doorkeeper.server.authorizer.standard import StandardAuthorizer

if TYPE_CHECKING:
    from collections.abc import Mapping


def test_standard_authorizer_is_reconfigurable() -> None:
    authorizer = StandardAuthorizer()
    authorizer.configure({"super.users": "User:a"})
    configs = {"super.users": "User:b", "allow.everyone.if.no.acl.found": "true"}

    assert isinstance(authorizer, Reconfigurable)
    assert authorizer.reconfigurable_configs() >= configs.keys()
    authorizer.validate_reconfiguration(configs)
    with pytest.raises(ValueError, match=r"super\.users"):
        authorizer.validate_reconfiguration({"super.users": "b"})
    assert authorizer.policy.super_users == {"User:a"}
    authorizer.reconfigure(configs)
    assert authorizer.policy.super_users == {"User:b"}
    assert authorizer.policy.allow_everyone


def test_initial_values_are_not_a_reconfiguration() -> None:
    """A subclass of the standard authorizer hears of ``reconfigure`` when values have changed."""
    heard = []

    class Hearing(StandardAuthorizer):
        def reconfigure(self, configs: Mapping[str, str]) -> None:
            heard.append(configs)

    authorizer = Hearing()
    authorizer.configure({"super.users": "User:a"})

    assert authorizer.policy.super_users == {"User:a"}
    assert heard == []

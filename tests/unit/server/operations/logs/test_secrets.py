"""What is never written."""

from __future__ import annotations

import pytest

from doorkeeper.server.operations.logs.pipeline import HIDDEN, hide, is_secret


@pytest.mark.parametrize(
    "name",
    ["password", "new_passwd", "auth_token", "sasl_jaas_config", "sasl.jaas.config", "super.users",
     "listener.name.s.plain.sasl.jaas.config", "private_key", "client_secret", "scram_proof"],
)  # fmt: skip
def test_secret_names(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize("name", ["principal", "listener", "node.id", "event", "key", "acls"])
def test_other_names_are_not_secret(name: str) -> None:
    assert not is_secret(name)


def test_secrets_in_mappings_are_hidden() -> None:
    event = {
        "event": "configured",
        "password": "s3cret",
        "configs": {"sasl.jaas.config": "s3cret", "deep": {"token": "s3cret"}, "node.id": "1"},
    }

    assert hide(None, "info", event) == {
        "event": "configured",
        "password": HIDDEN,
        "configs": {"sasl.jaas.config": HIDDEN, "deep": {"token": HIDDEN}, "node.id": "1"},
    }

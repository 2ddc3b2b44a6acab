"""What a handler module declares of itself."""

from __future__ import annotations

from doorkeeper.api.declaration import Api


def test_an_api_is_for_brokers_unless_it_says_otherwise() -> None:
    """Listeners for controllers serve few APIs, so those must say so."""
    api = Api(3, "X", 0, 1, object, lambda *_: None, lambda *_: None)

    assert (api.on_broker, api.on_controller) == (True, False)

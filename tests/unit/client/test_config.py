"""Where a client connects to."""

from __future__ import annotations

import pytest

from doorkeeper.client.config import Address, ClientConfig, address_of


def test_addresses_are_separated_by_commas() -> None:
    """Blanks do not matter, nor does a comma at the end; brackets hold what has colons."""
    config = ClientConfig(bootstrap="a:1, [::1]:2 ,")

    assert config.addresses() == [Address("a", 1), Address("::1", 2)]
    assert list(map(str, config.addresses())) == ["a:1", "[::1]:2"]


@pytest.mark.parametrize("text", ["a", "a:", ":1", "a:x", "a:0", "a:65536", "a:\u0661", "[]:1"])
def test_invalid_address_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="expected: host:port") as raised:
        address_of(text)

    assert repr(text) in str(raised.value)

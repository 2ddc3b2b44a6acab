"""What servers of tests have in common: see also test_server and test_process."""

from __future__ import annotations

from doorkeeper.testing import DoorkeeperServer


def test_the_first_listener_is_the_usual_one() -> None:
    """Each listener has an address; that of the first is the one to bootstrap from."""
    with DoorkeeperServer(listeners=["SASL_PLAINTEXT", "PLAINTEXT"]) as server:
        addresses = [server.address(name) for name in (None, "SASL_PLAINTEXT", "PLAINTEXT")]

        assert addresses[0] == addresses[1] == server.bootstrap_servers
        assert addresses[2] != addresses[0]
        assert repr(server) == (
            f"<DoorkeeperServer SASL_PLAINTEXT {addresses[1]}, PLAINTEXT {addresses[2]}>"
        )

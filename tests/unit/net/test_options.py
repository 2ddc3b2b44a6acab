"""A listener as the configuration describes it."""

from __future__ import annotations

from doorkeeper.limits import UNLIMITED
from doorkeeper.net import ListenerSpec, Logger
from doorkeeper.net.options import UNAUTHENTICATED
from testkit.edge import LOGIN, Log


def test_a_listener_is_open_to_all_unless_told() -> None:
    """Without more a listener is for clients, without SASL, without a limit of its own."""
    spec = ListenerSpec(name="A", security_protocol="PLAINTEXT", host="", port=9092)

    assert (spec.controller, spec.security, spec.max_connections) == (
        False,
        UNAUTHENTICATED,
        UNLIMITED,
    )


def test_a_listener_shows_no_secret() -> None:
    """The repr of a listener has no password in it."""
    spec = ListenerSpec(name="A", security_protocol="SASL", host="", port=1, security=LOGIN)

    assert "secret" not in repr(spec)


def test_the_parts_of_tests_have_the_forms_that_are_asked_for() -> None:
    """A log is anything with these methods."""
    logger: Logger = Log()

    assert callable(logger.info)

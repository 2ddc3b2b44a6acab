"""The keys of TLS."""

from testkit.settings import problems_of


def test_client_auth() -> None:
    """One of three words, in lower case as Kafka has them."""
    assert problems_of("listener.name.x.ssl.client.auth=requested") == []
    (problem,) = problems_of("ssl.client.auth=Required")
    assert "allowed: required or requested or none" in problem

"""The page of what clients send is made of what was seen, and nothing else."""

from __future__ import annotations

from doorkeeper.handlers.registry import APIS
from testkit import clients_page


def test_the_page_is_current() -> None:
    """If not: PYTHONPATH=tests python -m testkit.clients_page --render."""
    seen = clients_page.load()

    assert clients_page.PAGE.read_text(encoding="utf-8") == clients_page.page(seen)


def test_the_releases_are_those_that_are_tested() -> None:
    """A client's lock that moved on needs its row made anew: python -m testkit.clients_page."""
    seen = {name: sight.release for name, sight in clients_page.load().items()}

    assert seen == clients_page.releases()


def test_every_client_made_every_call() -> None:
    """No cell of the table is empty."""
    for sight in clients_page.load().values():
        assert list(sight.calls) == list(clients_page.CALLS)
        assert all(sight.calls.values())


def test_what_clients_send_is_served() -> None:
    """Every request that was seen has a version that is served."""
    served = {
        f"{api.name} {version}"
        for api in APIS.values()
        for version in range(api.min_version, api.max_version + 1)
    }
    sent = {
        request
        for sight in clients_page.load().values()
        for requests in sight.calls.values()
        for request in requests
    }

    assert sent <= served

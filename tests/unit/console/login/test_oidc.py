"""Login by OpenID Connect: the way to the provider and back, and what is refused on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from joserfc.jwk import ECKey
from starlette.testclient import TestClient

from doorkeeper.console.login.exposure import exposure_of
from doorkeeper.console.login.oidc import PENDING_OF_PEER_MAX, Client, Oidc, Refused
from testkit.consoles import console_over, options, sets_at
from testkit.oidc_provider import CLIENT, SECRET, Provider, provider

Open = Callable[..., TestClient]


@pytest.fixture
def one() -> Iterator[Provider]:
    with provider() as opened:
        yield opened


@pytest.fixture
def console(one: Provider, acls: Path, tmp_path: Path) -> Iterator[TestClient]:
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n", encoding="utf-8")
    words = [f"--oidc-issuer={one.issuer}", f"--oidc-client={CLIENT}", f"--oidc-secret={secret}"]
    words += ["--oidc-operator=groups=admins", "--oidc-viewer=sub=*"]
    with console_over(sets_at(acls), exposure=exposure_of(options(*words))) as client:
        yield client


def come_back(console: TestClient, one: Provider, path: str = "/") -> httpx2.Response:
    """Go to the provider, log in there, and return the answer to what the browser brings back."""
    page = console.get(f"/login/provider?next={path}", follow_redirects=False)
    assert page.status_code == 303
    return console.get(one.log_in(page.headers["location"]), follow_redirects=False)


def test_a_login_gives_a_session_and_leads_back(console: TestClient, one: Provider) -> None:
    """Without one each page leads to the login; its cookie is for this site and no script."""
    asked = console.get("/who-can", params={"name": "orders"}, follow_redirects=False)
    answer = come_back(console, one, "/who-can")
    page = console.get("/who-can", params={"name": "orders"})

    assert asked.headers["location"] == "/login?next=%2Fwho-can%3Fname%3Dorders"
    assert (answer.status_code, answer.headers["location"]) == (303, "/who-can")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert page.status_code == 200
    assert "alice (42)" in page.text
    assert "viewer" in page.text


@pytest.mark.parametrize(("groups", "role"), [(["x", "admins"], "operator"), (["x"], "viewer")])
def test_a_claim_gives_a_role(
    console: TestClient, one: Provider, groups: list[str], role: str
) -> None:
    """One value of a list is enough; the higher role counts."""
    one.user["groups"] = groups
    come_back(console, one)

    assert f"</bdi>, {role}" in console.get("/").text


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"nonce": "another"}, "its nonce is not that of this login"),
        ({"nonce": None}, "its nonce is not that of this login"),
        ({"iss": "http://127.0.0.1:1"}, "the issuer is not the expected one"),
        ({"aud": "another"}, "audience"),
        ({"aud": None}, "audience"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "issued for another client"),
        ({"iat": 1, "exp": 2}, "the token has expired"),
        ({"exp": None}, "the claim exp is missing"),
        ({"sub": None, "preferred_username": None}, "is missing, blank or not a string"),
    ],
)
def test_a_wrong_token_is_refused(
    console: TestClient, one: Provider, claims: dict[str, Any], reason: str
) -> None:
    """The reason is shown, and there is no session."""
    one.claims = claims
    answer = come_back(console, one)

    assert answer.status_code == 403
    assert reason in answer.text
    assert console.get("/who-can.json").status_code == 401


def test_a_token_of_another_key_is_refused(console: TestClient, one: Provider) -> None:
    """It names a key of the provider, and has another signature."""
    one.signs_with = ECKey.generate_key("P-256")

    assert "the signature is wrong" in come_back(console, one).text


def test_a_peer_does_not_end_the_logins_of_others(one: Provider) -> None:
    """It may begin as many as it likes: its own oldest ends."""
    oidc = Oidc(Client(one.issuer, CLIENT, "http://localhost/login/callback", ()))

    async def ends() -> list[bool]:
        first = await oidc.begin("/", "192.0.2.1")
        mine = [await oidc.begin("/", "192.0.2.2") for _ in range(PENDING_OF_PEER_MAX + 1)]
        ended = []
        for page, browser in (first, mine[0], mine[1]):
            state = parse_qs(urlsplit(page).query)["state"][0]
            with pytest.raises(Refused) as refused:
                await oidc.finish({"state": state}, browser)
            ended.append("not begun here" in str(refused.value))
        return ended

    assert asyncio.run(ends()) == [False, True, False]


def test_a_state_counts_once_and_in_its_browser(console: TestClient, one: Provider) -> None:
    """A second use, an unknown state and another browser are refused; no code is exchanged."""
    page = console.get("/login/provider", follow_redirects=False).headers["location"]
    brought = one.log_in(page)
    cookies = dict(console.cookies)
    console.cookies.clear()
    stolen = console.get(brought, follow_redirects=False)
    console.cookies.update(cookies)
    replayed = console.get(brought, follow_redirects=False)
    one.answer = {"state": "unknown"}
    unknown = come_back(console, one)

    assert "another browser" in stolen.text
    assert "not begun here" in replayed.text
    assert "not begun here" in unknown.text
    assert "/token" not in one.requests


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"iss": "http://evil.example"}, "found the issuer"),
        ({"code": "unknown"}, "status 400"),
    ],
)
def test_wrong_answers_are_refused(
    console: TestClient, one: Provider, answer: dict[str, str], reason: str
) -> None:
    """The answer of another provider, and a code that ours does not know."""
    one.answer = answer

    assert reason in come_back(console, one).text


def test_a_discovery_document_of_another_issuer_is_refused(
    console: TestClient, one: Provider
) -> None:
    one.announced_issuer = "https://evil.example"
    answer = console.get("/login/provider")

    assert answer.status_code == 502
    assert "found another issuer" in answer.text


def test_nothing_secret_is_in_pages_and_links(console: TestClient, one: Provider) -> None:
    """Neither the client's secret nor the verifier; each login has a state of its own."""
    pages = [
        console.get("/login/provider", follow_redirects=False).headers["location"] for _ in "12"
    ]
    queries = [parse_qs(urlsplit(page).query) for page in pages]
    come_back(console, one)

    assert queries[0].keys() == {
        *("response_type", "client_id", "redirect_uri", "scope", "state", "nonce"),
        *("code_challenge", "code_challenge_method"),
    }
    assert all(
        queries[0][name] != queries[1][name] for name in ("state", "nonce", "code_challenge")
    )
    assert SECRET not in console.get("/").text
